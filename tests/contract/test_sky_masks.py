"""Regions of the sky from files: HEALPix masks and multi-order coverage maps."""

import gzip
import sys

import numpy as np
import pytest

import tmsm
from tests.sky_files import healpix_file
from tmsm.data.named_tables import FramedPoints
from tmsm.manifolds.frames import EARTH, GALACTIC, ICRS
from tmsm.regions import healpix_files

NSIDE = 4
OBSERVED = np.isin(np.arange(12 * NSIDE**2), np.r_[0:30, 60:90])


@pytest.mark.parametrize("width", [1, 96])
@pytest.mark.parametrize(
    ("coordsys", "frame"), [("C", "icrs"), ("G", "galactic"), ("galactic", "galactic"), (None, None)]
)
def test_a_mask_is_where_the_map_is_above_the_threshold(tmp_path, width, coordsys, frame):
    values = np.where(OBSERVED, 0.75, 0.0)
    values[[100, 101]] = np.nan, -1.6375e30  # what was not seen
    values[0] = 0.25
    path = healpix_file(tmp_path / "mask.fits", values, width=width, coordsys=coordsys)
    mask = tmsm.HealpixMask.from_file(path)
    assert mask == tmsm.HealpixMask(NSIDE, OBSERVED, frame=frame)
    assert (f"frame={frame!r}" in repr(mask)) == (frame is not None)
    higher = tmsm.HealpixMask.from_file(path, threshold=0.5)
    assert set(mask.pixels) - set(higher.pixels) == {0}
    assert mask != tmsm.HealpixMask(NSIDE, OBSERVED, frame="earth")


def test_nested_explicit_packed_and_of_other_types(tmp_path):
    nested = healpix_file(tmp_path / "nested.fits.gz", OBSERVED.astype(int), nest=True, code="J")
    assert tmsm.HealpixMask.from_file(nested) == tmsm.HealpixMask(NSIDE, OBSERVED, nest=True, frame="icrs")
    flags = healpix_file(tmp_path / "flags.fits", OBSERVED, code="L")
    assert tmsm.HealpixMask.from_file(flags) == tmsm.HealpixMask(NSIDE, OBSERVED, frame="icrs")
    pixels = np.array([7, 3, 90, 5])
    part = healpix_file(tmp_path / "part.fits", [1.0, 2.0, 0.0, np.nan], pixels=pixels, nside=NSIDE)
    assert tmsm.HealpixMask.from_file(part) == tmsm.HealpixMask(NSIDE, [3, 7], frame="icrs")
    # Whole numbers say in their own way that they are missing.
    from astropy.io import fits

    column = fits.Column("MASK", "J", array=np.where(OBSERVED, 1, 7).astype(np.int32), null=7)
    hdu = fits.BinTableHDU.from_columns([column])
    for name, value in {"PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": NSIDE}.items():
        hdu.header[name] = value
    hdu.writeto(tmp_path / "null.fits")
    assert tmsm.HealpixMask.from_file(tmp_path / "null.fits") == tmsm.HealpixMask(NSIDE, OBSERVED)


def mixed_moc():
    """Cells of orders 0 to 6, among them those round the poles and across longitude 0."""
    from mocpy import MOC

    return MOC.from_str("0/3 2/0 15 190 4/40-47 1300 6/1000-1013 30000 40000 49151")


@pytest.mark.parametrize("form", ["fits", "json", "ascii"])
def test_a_coverage_map_is_what_mocpy_says_it_is(tmp_path, form):
    from astropy import units

    moc, path = mixed_moc(), tmp_path / {"fits": "c.fits", "json": "c.json", "ascii": "c.moc"}[form]
    moc.save(path, form)
    mask = tmsm.HealpixMask.from_file(path)
    assert (mask.nside, mask.nest, mask.frame) == (64, True, "icrs")
    assert mask.area == pytest.approx(4 * np.pi * moc.sky_fraction, rel=1e-12)
    X = tmsm.Sphere(2).uniform(4000, 0)
    lon, lat = tmsm.xyz_to_lonlat(X)
    known = moc.contains_lonlat(np.remainder(lon, 360.0) * units.deg, lat * units.deg)
    far = np.abs(mask.border_distance(X)[0]) > 1e-6
    assert far.mean() > 0.999
    np.testing.assert_array_equal(mask.contains(X)[far], known[far])
    assert 0.02 < known.mean() < 0.5


def test_a_coverage_map_has_its_own_finest_order_and_is_in_icrs(tmp_path):
    from astropy.io import fits
    from mocpy import MOC

    moc = MOC.from_depth29_ranges(29, np.array([[0, 4**27]], dtype=np.uint64))  # one cell of order 2, stored at 29
    moc.save(tmp_path / "fine.fits", "fits")
    assert tmsm.HealpixMask.from_file(tmp_path / "fine.fits").nside == 4
    with fits.open(tmp_path / "fine.fits") as file:
        file[1].header["COORDSYS"] = "G"
        file.writeto(tmp_path / "galactic.fits")
    with pytest.raises(ValueError, match=r"galactic\.fits is a coverage map \(MOC\) in galactic coordinates"):
        tmsm.HealpixMask.from_file(tmp_path / "galactic.fits")


def test_a_deep_coverage_map_is_small(tmp_path):
    # Order 18 has 8·10¹¹ pixels, of which four were observed.
    (tmp_path / "deep.moc").write_text("18/1000000-1000003")
    mask = tmsm.HealpixMask.from_file(tmp_path / "deep.moc")
    center = np.mean([ring.mean(axis=0) for ring in mask.outline.rings], axis=0)
    assert mask.contains(center[None] / np.linalg.norm(center)).all()


def corrupt(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    return path


BAD = {
    "nothing above": (
        lambda p: healpix_file(p / "m.fits", np.zeros(48)),
        r"m\.fits has no pixel above 0 \(largest: 0\): nothing was observed",
    ),
    "all missing": (lambda p: healpix_file(p / "m.fits", np.full(48, np.nan)), "nothing was observed"),
    "all sky": (
        lambda p: healpix_file(p / "m.fits", np.ones(48)),
        r"All pixels of m\.fits were observed: use Everywhere\(Sphere\(2\)\)",
    ),
    "another nside": (
        lambda p: healpix_file(p / "m.fits", np.ones(48), nside=4),
        r"nside 4 has 192 pixels, and m\.fits has 48 values",
    ),
    "no power of two": (lambda p: healpix_file(p / "m.fits", np.arange(108.0)), "nside must be a power of two"),
    "no order": (lambda p: healpix_file(p / "m.fits", np.ones(48), ORDERING=None), "does not say the order"),
    "ecliptic": (lambda p: healpix_file(p / "m.fits", np.ones(48), coordsys="E"), "coordinate system 'E'"),
    "beyond": (
        lambda p: healpix_file(p / "m.fits", [1.0], pixels=np.array([48]), nside=2),
        "pixel numbers beyond those of nside 2",
    ),
    "twice": (
        lambda p: healpix_file(p / "m.fits", [1.0, 1.0], pixels=np.array([4, 4]), nside=2),
        "has some pixels twice",
    ),
    "cut short": (
        lambda p: corrupt(healpix_file(p / "m.fits", np.ones(12 * 16**2)), 0.6),
        r"m\.fits cannot be read as FITS",
    ),
    "no folder": (lambda p: p, "is a folder"),
    "not there": (lambda p: p / "m.fits", "There is no file"),
    "empty file": (lambda p: (p / "m.fits", (p / "m.fits").write_bytes(b""))[0], r"m\.fits is empty"),
    "text": (
        lambda p: (p / "m.moc", (p / "m.moc").write_text("hello"))[0],
        r"m\.moc is no HEALPix mask: it is neither FITS nor a MOC",
    ),
    "damaged gzip": (
        lambda p: (p / "m.fits.gz", (p / "m.fits.gz").write_bytes(gzip.compress(b"SIMPLE  = " * 99)[:30]))[0],
        "is no HEALPix mask|cannot be read as FITS",
    ),
    "empty coverage": (lambda p: (p / "m.json", (p / "m.json").write_text("{}"))[0], r"m\.json covers nothing"),
    "broken coverage": (
        lambda p: (p / "m.json", (p / "m.json").write_text('{"3": [1, 2'))[0],
        r"m\.json cannot be read as a coverage map",
    ),
    "too fine": (
        lambda p: (p / "m.moc", (p / "m.moc").write_text("0/3 14/1"))[0],
        r"covers 2\.68e\+08 pixels of its finest order 14, more than 20,000,000: degrade it",
    ),
    "whole coverage": (lambda p: (p / "m.moc", (p / "m.moc").write_text("0/0-11"))[0], "use Everywhere"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_mask_is_refused(tmp_path, name):
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        tmsm.HealpixMask.from_file(make(tmp_path))


def test_a_probability_map_of_many_orders_is_no_coverage(tmp_path):
    from astropy.io import fits

    columns = [fits.Column("UNIQ", "K", array=[16, 17]), fits.Column("PROBDENSITY", "D", array=[0.1, 0.2])]
    hdu = fits.BinTableHDU.from_columns(columns)
    hdu.header["PIXTYPE"], hdu.header["ORDERING"], hdu.header["COORDSYS"] = "HEALPIX", "NUNIQ", "C"
    hdu.writeto(tmp_path / "wave.fits")
    with pytest.raises(ValueError, match=r"map with values in pixels of many sizes \(UNIQ, PROBDENSITY\)"):
        tmsm.HealpixMask.from_file(tmp_path / "wave.fits")


@pytest.mark.parametrize(("module", "name"), [("mocpy", "c.moc"), ("astropy.io.fits", "c.fits")])
def test_a_missing_package_is_said(tmp_path, monkeypatch, module, name):
    mixed_moc().save(tmp_path / "c.moc", "ascii")
    healpix_file(tmp_path / "c.fits", np.ones(48))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(tmsm.errors.MissingDependencyError, match=r"pip install 'tmsm\[sky\]'"):
        tmsm.HealpixMask.from_file(tmp_path / name)


def test_points_in_another_frame_than_the_mask_are_refused():
    galactic = tmsm.HealpixMask(NSIDE, OBSERVED, frame="galactic")
    X = tmsm.VonMisesFisher().sample(200, galactic, random_state=0, mean_direction=[0, 0, 1.0], concentration=2.0)
    tmsm.ScoreMatching(tmsm.VonMisesFisher(), galactic).fit(X)  # bare rows agree with everything
    message = r"The region is in galactic coordinates and the points are in ICRS\."
    for region in (galactic, ~galactic, galactic & tmsm.Cap([0, 0, 1.0], 2.0)):
        assert region.frames == {"galactic"}
        inside = X[region.contains(X)] if region.contains(X).any() else -X[region.contains(-X)]
        for estimator in (tmsm.ScoreMatching, tmsm.TruncatedMLE):
            with pytest.raises(ValueError, match=message):
                estimator(tmsm.VonMisesFisher(), region).fit(FramedPoints(inside, ICRS))
    tmsm.ScoreMatching(tmsm.VonMisesFisher(), galactic).fit(FramedPoints(X, GALACTIC))
    with pytest.raises(ValueError, match="Regions must be in one frame to be combined; got galactic and icrs"):
        galactic & tmsm.HealpixMask(NSIDE, OBSERVED, frame="icrs")


def test_the_command_reads_masks_and_asks_for_their_frame(tmp_path):
    from tmsm.cli.borders import read_region

    path = healpix_file(tmp_path / "mask.fits", OBSERVED * 1.0, coordsys="G")
    assert read_region(str(path), frame=GALACTIC) == tmsm.HealpixMask.from_file(path)
    with pytest.raises(ValueError, match=r"mask\.fits is a map of the sky \(galactic\), .* Say --sky galactic"):
        read_region(str(path), frame=EARTH)
    with pytest.raises(ValueError, match=r"right ascension and declination of the sky \(ICRS\)\. Say --sky galactic"):
        read_region(str(path), frame=ICRS)
    for form, name in (("fits", "c.fits"), ("json", "c.json"), ("ascii", "c.moc")):
        mixed_moc().save(tmp_path / name, form)
        assert read_region(str(tmp_path / name), frame=ICRS).nside == 64
    (tmp_path / "border.json").write_text('{"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 0]]]}')
    assert isinstance(read_region(str(tmp_path / "border.json"), frame=ICRS), tmsm.SphericalPolygon)


def test_kinds_of_files_by_their_content(tmp_path):
    path = tmp_path / "x"
    for text, kind in (
        ('{"3": [1]}', "moc-json"),
        ('\n { "29" : [ 4 ] }', "moc-json"),
        ('{"type": "Polygon"}', "other"),
        ("3/1 4/12-13,18\n", "moc-ascii"),
        ("6/" + " ".join(map(str, range(5000))), "moc-ascii"),
        ("lon,lat\n3,4", "other"),
        ("", "other"),
    ):
        path.write_text(text)
        assert healpix_files.kind_of_file(path) == kind, text[:20]
