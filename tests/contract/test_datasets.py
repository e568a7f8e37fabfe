"""Embedded data, readers of the agencies' files, and downloads, from a server on this machine."""

import gzip
import http.server
import re
import socket
import threading

import numpy as np
import pytest

import tmsm
from tests.shared_data import data_file
from tmsm import datasets
from tmsm.datasets import download
from tmsm.foundation.errors import DownloadError, InvalidInputError

DETAILS = """EPISODE_ID,EVENT_ID,YEAR,EVENT_TYPE,DEATHS_DIRECT,DEATHS_INDIRECT,BEGIN_LAT,BEGIN_LON,EVENT_NARRATIVE
1,20,2017,Tornado,2,1,35.1,-97.5,"Two lines,
with a comma"
1,10,2017,Hail,0,0,36,-98,
1,30,2017,Heat,4,0,,,"No place"
"""
LOCATIONS = """YEARMONTH,EPISODE_ID,EVENT_ID,LOCATION_INDEX,RANGE,AZIMUTH,LOCATION,LATITUDE,LONGITUDE,LAT2,LON2
201704,1,20,2,1,N,B,35.3,-97.3,1,1
201704,1,20,1,1,N,A,35.2,-97.4,1,1
201801,2,40,1,1,N,C,40.5,-80.25,1,1
"""
FATALITIES = """FAT_YEARMONTH,FAT_DAY,FAT_TIME,FATALITY_ID,EVENT_ID,FATALITY_TYPE
201801,1,0,900,40,D
201801,1,0,901,40,D
"""
HURDAT2 = """AL092011,              IRENE,      2,
20110821, 0000,  , TS, 15.0N,  59.0W,  45, 1006,  105,    0,    0,   45,    0,    0,    0,    0,    0,    0,    0,    0,
20110821, 0600,  , TS, 16.0N,  60.6W,  45, 1006,  130,    0,    0,   80,    0,    0,    0,    0,    0,    0,    0,    0,
AL102011,                TEN,      1,
20110825, 0000,  , TD, 12.3S,  30.1E,  30, 1009,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
"""


def test_embedded_storms():
    storms = datasets.load_atlantic_storms()
    assert len(storms) == 20_428
    assert (storms.year.min(), storms.year.max()) == (1980, 2024)
    origins = storms.origins()
    assert len(origins) == len(np.unique(storms.storm)) == 730
    for storm in origins.storm[:20]:
        own = storms[storms.storm == storm]
        assert origins.time[origins.storm == storm][0] == own.time.min()
    lon, lat = tmsm.xyz_to_lonlat(origins.X.mean(axis=0) / np.linalg.norm(origins.X.mean(axis=0)))
    assert (lon, lat) == (pytest.approx(-59.5, abs=0.05), pytest.approx(21.6, abs=0.05))


@pytest.mark.parametrize(("resolution", "inside"), [("50m", 1264), ("110m", 1304)])
def test_embedded_border(resolution, inside):
    border, storms = datasets.load_border("usa", resolution), datasets.load_atlantic_storms()
    assert border.contains(storms.X).sum() == inside
    same = tmsm.SphericalPolygon.from_geojson(data_file(f"usa_contiguous_{resolution}.geojson"))
    assert border.area == pytest.approx(same.area, rel=1e-4)


@pytest.mark.parametrize("resolution", ["110m", pytest.param("50m", marks=pytest.mark.slow)])
def test_embedded_land(resolution):
    land = datasets.load_land(resolution)
    assert land.area == pytest.approx(0.29 * 4 * np.pi, rel=0.02)
    places = tmsm.lonlat_to_xyz([-97.0, 20.0, 135.0, 0.0, -30.0, 160.0], [39.0, 0.0, -25.0, -85.0, 30.0, 0.0])
    assert land.contains(places).tolist() == [True, True, True, True, False, False]


def test_tables_are_read_only_and_say_what_they_are():
    storms = datasets.load_atlantic_storms()[:3]
    assert repr(storms) == "StormFixes(<3 rows: longitude, latitude, storm, time>)"
    with pytest.raises(ValueError, match="read-only"):
        storms.longitude[0] = 0.0
    with pytest.raises(InvalidInputError, match="different lengths"):
        datasets.StormFixes(np.zeros(2), np.zeros(2), np.array(["a"]), np.array(["2000-01-01"], dtype="datetime64[s]"))


def test_unknown_names():
    with pytest.raises(InvalidInputError, match="name='france' is not an option"):
        datasets.load_border("france")
    with pytest.raises(InvalidInputError, match="resolution='10m' is not an option"):
        datasets.load_land("10m")


def storm_files(folder, *, compress):
    for name, text in (("details", DETAILS), ("locations", LOCATIONS), ("fatalities", FATALITIES)):
        path = folder / f"StormEvents_{name}-ftp_v1.0_d2017_c20250520.csv"
        if compress:
            path.with_suffix(".csv.gz").write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)


@pytest.mark.parametrize("compress", [False, True])
def test_storm_events(tmp_path, compress):
    storm_files(tmp_path, compress=compress)
    (tmp_path / "notes.txt").write_text("not one of them")
    events = datasets.read_storm_events(tmp_path)
    # By identifier; the first location before where an event began; events without a place are left out.
    assert events.event.tolist() == [10, 20, 40]
    assert events.longitude.tolist() == [-98.0, -97.4, -80.25]
    assert events.latitude.tolist() == [36.0, 35.2, 40.5]
    assert events.year.tolist() == [2017, 2017, 2018]
    assert events.kind.tolist() == ["Hail", "Tornado", ""]
    assert events.fatalities.tolist() == [0, 3, 2]


def test_storm_events_from_some_of_the_files(tmp_path):
    storm_files(tmp_path, compress=False)
    details = next(tmp_path.glob("*details*"))
    assert datasets.read_storm_events([details]).longitude.tolist() == [-98.0, -97.5]
    assert datasets.read_storm_events(next(tmp_path.glob("*locations*"))).fatalities.tolist() == [0, 0]


def test_the_compact_table_of_storm_events():
    events = datasets.read_storm_events(data_file("noaa_storm_events_conus_2017_2020.csv.gz"))
    inside = datasets.load_border("usa").contains(events.X)
    assert inside.sum() == 113_628
    assert (events.fatalities[inside] > 0).sum() == 348


def test_hurdat2(tmp_path):
    path = tmp_path / "hurdat2-1851-2011-050112.txt"
    path.write_text("\ufeff" + HURDAT2)  # with a byte-order mark, as some editors leave
    (tmp_path / "hurdat2-nepac-1949-2011-050112.txt").write_text(HURDAT2.replace("AL", "EP"))
    fixes = datasets.read_hurdat2(tmp_path)
    assert fixes.storm.tolist() == ["AL092011", "AL092011", "AL102011"]
    assert fixes.longitude.tolist() == [-59.0, -60.6, 30.1]
    assert fixes.latitude.tolist() == [15.0, 16.0, -12.3]
    assert fixes.time[1] == np.datetime64("2011-08-21T06:00")
    assert len(fixes.origins()) == 2


BAD_EVENTS = {
    "EVENT_ID,LATITUDE\n": "is no Storm Events file: it has neither the columns of a details file",
    "": "storm_events.csv is empty",
    "EVENT_ID,YEAR,LATITUDE,LONGITUDE\n1,2017,north,3": "line 2: 'north' is no coordinate",
    "EVENT_ID,YEAR,LATITUDE,LONGITUDE\n1,2017,135.0,3": "line 2: '135.0' is beyond ±90 degrees",
    "EVENT_ID,YEAR,LATITUDE,LONGITUDE\n1,2017,35": "line 2 has 3 of 4 columns: the file may be cut off",
    "EVENT_ID,YEAR,LATITUDE,LONGITUDE\ninf,2017,35,3": "EVENT_ID is 'inf', which is no number",
    "EVENT_ID,YEAR,LATITUDE,LONGITUDE\nx,2017,35,3": "EVENT_ID is 'x', which is no number",
}


@pytest.mark.parametrize("text", BAD_EVENTS)
def test_bad_storm_events(tmp_path, text):
    path = tmp_path / "storm_events.csv"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=re.escape(BAD_EVENTS[text])):
        datasets.read_storm_events(path)


BAD_HURDAT2 = {
    "<html>\n": "line 1: '<html>' is not HURDAT2",
    "AL092011, IRENE, two,\n": "ends in its number of fixes; got 'two'",
    HURDAT2.rsplit("\n", 2)[0]: "ends 1 lines early, in the storm AL102011",
    "AL092011, IRENE, 1,\n2011, 0, x,\n": "is not a fix of HURDAT2",
    "AL092011, IRENE, 1,\n20110821, 0000,, TS, 15.0X, 59.0W,\n": "'15.0X' does not end in N or S",
    "AL092011, IRENE, 1,\n20119921, 0000,, TS, 15.0N, 59.0W,\n": "'2011-99-21T00:00' is no time",
    "": "holds no storm",
    "id,name\n1,2\n": "has no column datetime",
}


@pytest.mark.parametrize("text", BAD_HURDAT2)
def test_bad_hurdat2(tmp_path, text):
    path = tmp_path / "hurdat2.txt"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=re.escape(BAD_HURDAT2[text])):
        datasets.read_hurdat2(path)


def test_files_that_are_not_there_or_not_whole(tmp_path):
    with pytest.raises(InvalidInputError, match="There is no file or folder"):
        datasets.read_storm_events(tmp_path / "absent")
    with pytest.raises(InvalidInputError, match="holds no Storm Events files"):
        datasets.read_storm_events(tmp_path)
    with pytest.raises(TypeError, match="Give a file, a folder or several files; got int"):
        datasets.read_hurdat2(3)
    cut = tmp_path / "storm_events.csv.gz"
    header, row = LOCATIONS.splitlines()[:2]
    cut.write_bytes(gzip.compress("\n".join([header, *[row] * 500]).encode())[:-12])
    with pytest.raises(InvalidInputError, match=r"storm_events\.csv\.gz cannot be read"):
        datasets.read_storm_events(cut)


@pytest.fixture
def agency(tmp_path, monkeypatch):
    """A server with the agency's pages, its requests, and an empty cache."""
    site, requests = tmp_path / "site", []
    (site / "events").mkdir(parents=True)
    (site / "data" / "hurdat").mkdir(parents=True)
    names = [
        f"StormEvents_{part}-ftp_v1.0_d2017_c{date}.csv.gz"
        for part in ("details", "locations")
        for date in (2016, 2025)
    ]
    for name in names:
        text = DETAILS if "details" in name else LOCATIONS
        (site / "events" / name).write_bytes(gzip.compress(text.encode()))
    for name in ("hurdat2-1851-2010-040111.txt", "hurdat2-1851-2011-050112.txt"):
        (site / "data" / "hurdat" / name).write_text(HURDAT2)
    links = [path.name for path in (site / "data" / "hurdat").iterdir()]
    (site / "data" / "index.html").write_text("".join(f'<a href="/data/hurdat/{name}">' for name in links))

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(site))

        def log_message(self, *args):
            requests.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(download, "_STORM_EVENTS", f"{root}/events/")
    monkeypatch.setattr(download, "_HURDAT2_PAGE", f"{root}/data/")
    monkeypatch.setattr(download, "_HURDAT2", f"{root}/data/hurdat/")
    yield tmp_path / "cache", requests
    server.shutdown()
    server.server_close()


def test_downloads_are_kept(agency):
    cache, requests = agency
    events = datasets.fetch_storm_events([2017], folder=cache)
    assert events.event.tolist() == [10, 20, 40]
    assert sorted(path.name for path in cache.iterdir()) == [
        "StormEvents_details-ftp_v1.0_d2017_c2025.csv.gz",
        "StormEvents_locations-ftp_v1.0_d2017_c2025.csv.gz",
    ]
    requests.clear()
    assert len(datasets.fetch_storm_events([2017], folder=cache)) == 3
    assert requests == []
    assert len(datasets.fetch_hurdat2(folder=cache)) == 3
    assert (cache / "hurdat2-1851-2011-050112.txt").is_file()


@pytest.fixture
def nowhere():
    """An address of this machine at which nobody listens, and nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/"


def test_no_such_year_and_no_network(agency, nowhere, monkeypatch):
    cache, _ = agency
    with pytest.raises(DownloadError, match=r"lists no file .*_d1999_.* by hand"):
        datasets.fetch_storm_events([1999], folder=cache)
    with pytest.raises(InvalidInputError, match="calendar years from 1950 on"):
        datasets.fetch_storm_events([1066], folder=cache)
    monkeypatch.setattr(download, "_STORM_EVENTS", nowhere)
    with pytest.raises(DownloadError, match=r"cannot be reached .* pass it to read_storm_events"):
        datasets.fetch_storm_events([2017], folder=cache)
    monkeypatch.setattr(download, "_HURDAT2_PAGE", nowhere)
    with pytest.raises(DownloadError, match=r"cannot be reached .* pass it to read_hurdat2"):
        datasets.fetch_hurdat2(folder=cache)
