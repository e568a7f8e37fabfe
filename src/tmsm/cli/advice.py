"""The library's advice in the words of the command: what a Python user would type becomes an option."""

from __future__ import annotations

import re

__all__ = ["WORDS", "for_command"]

# What the library says, as a regular expression, and what the command says instead, in this order.
WORDS: tuple[tuple[str, str], ...] = (
    (r"or drop such rows with outside='drop'", "or leave such points out with --outside drop"),
    (r"leave rows beyond it out with outside='drop'", "leave points beyond it out with --outside drop"),
    (r"the region's side \(~region is the other one\)", "the side of the border"),
    # What is not known of a model need not be mentioned.
    (r"\(concentration=None(, ovalness=None)?\)", ""),
    (r"concentration=None, (?=ovalness)", ""),
    (r", ovalness=None(?=\))", ""),
    (r"\(degrees_of_freedom=None\)", ""),
    (r", background=False(?=\))", ""),
    (r"The number of components is still to be chosen \(n_components=\S+\): TruncatedMLE does so",
     "The number of components is chosen by the likelihood: use --method mle, or say it, as in --model mixture:2"),
    (r"give the region in which rows could be seen to ScoreMatching or TruncatedMLE",
     "give the border inside which points could be seen as --region"),
    (r"use TruncatedMLE, or a uniform background", "use --method mle, or --background"),
    (r"Use ScoreMatching, which needs no integral", "Use --method score, which needs no integral"),
    (r"\(FisherBingham for Kent, Bingham for Watson, ExponentialFamily for others\)",
     "(--model fisher-bingham for kent, --model bingham for watson)"),
    (r"TruncatedMLE, or (?=refine='mle', determines)", "--method mle, or "),
    (r"\brobust='auto'", "--robust auto"),
    (r"\brobust is for fits without covariates, as yet: leave out robust, or the covariates",
     "--robust is for fits without --covariate, as yet: leave out one of them"),
    (r"robust and refine='mle' exclude", "--robust and --method refined exclude"),
    (r"fit them with groups\.", "use --groups."),
    (r"row_weights_ tells which", "the report shows which"),
    (r"or TruncatedMLE in a region", "or --method mle in a region"),
    (r": use fit with standard_errors=True\.", "."),
    (r"or leave such points out\.", "or leave such points out with --bad skip."),
    (r"Use weight='auto', or Everywhere\(manifold\) if nothing was cut off",
     "Use --weight auto, or --region everywhere if nothing was cut off"),
    (r"weight='(\w+)'", r"--weight \1"),
    (r"the weight '(\w+)'", r"--weight \1"),
    (r"Use a single weight \('auto' does\), or the bootstrap", "Use a single weight (--weight auto does)"),
    (r"Use 'geodesic' or 'chordal' instead", "Use --weight geodesic or --weight chordal instead"),
    (r"Use 'geodesic'\.", "Use --weight geodesic."),
    (r"use 'saturating'", "use --weight saturating"),
    (r"use unimodal=False, FisherBingham\(\) or Bingham\(\)", "use --model fisher-bingham or --model bingham"),
    (r" With unimodal=True the fit keeps to one\.", ""),
    (r"Pass unimodal=False if that is meant", "Use --model fisher-bingham if that is meant"),
    (r"With none the family is VonMisesFisher; for two ovalnesses pass balanced=False",
     "With none the model is vmf"),
    (r"[Uu]se Bingham\(\)", "use --model bingham"),
    (r", or project the rows to a plane and use MultivariateNormal\(\)", ""),
    (r"Kent\(\) or VonMisesFisher\(\)", "--model kent or --model vmf"),
    (r"\bVonMisesFisher\(\)(?!;)", "--model vmf"),
    (r"\bwhere balanced=False", ""),
    (r"ScoreMatching needs (none|no integral)", r"--method score needs \1"),
    (r"use ScoreMatching or TruncatedMLE", "use --method score or --method mle"),
    (r"use ScoreMatching\b", "use --method score"),
    (r"use Everywhere\(Sphere\(2\)\)", "use --region everywhere"),
    (r"The complement of Everywhere is empty", "Without everywhere nothing is left"),
    (r"Convert it with geopandas\.read_file\(path\)\.to_crs\(4326\), or ogr2ogr", "Convert it with ogr2ogr"),
    (r"Shapefiles, GeoPackages and FlatGeobufs are read with SphericalPolygon\.from_file\.",
     "Shapefiles, GeoPackages and FlatGeobufs are known by their endings."),
    (r"If it is in degrees, say so: \.set_crs\('EPSG:4326'\)\.",
     "If it is in degrees, say so: ogr2ogr -a_srs EPSG:4326 new.gpkg old.gpkg."),
    (r"confidence_interval\(\) gives", "the table gives"),
    (r" Use fit with standard_errors=True\.", ""),
    (r"or use lonlat_to_xyz if these are degrees", "or name columns in degrees with --columns LON,LAT"),
    (r"Longitude and latitude in degrees become unit vectors with lonlat_to_xyz(\(lon, lat\))?\.", ""),
    (r"Write region & ~Cap\(center, radius\), for instance\.",
     "Write --region 'BORDER - cap:LON,LAT,DEGREES', for instance."),
    (r"HealpixMask\.from_file makes a region of the pixels of a HEALPix map that are not zero\.",
     "Write --region 'BORDER & MAP.fits', which keeps the pixels of a HEALPix map that are not zero."),
    (r" \(mocpy: moc\.degrade_to_order\)", ""),
    (r" Use lonlat_to_xyz for degrees\.", ""),
    (r"was made with a log_exposure function, and a file holds no code: give the function again, "
     r"load\(path, log_exposure=\.\.\.\)\.",
     "was made with a function as its exposure, which a file cannot hold: draw it in Python."),
    (r"plot_diagnostics draws any\.", ""),
    (r"does not agree with natural_params", "does not agree with what it is made from"),
    (r"\brefine='mle'", "--method refined"),
    (r"\blog_exposure\b", "the exposure"),
    (r"\b([Uu])se AdaptiveKernel\b", r"\1se --method kernel"),
    (r"\bAdaptiveKernel resolves more", "--method kernel resolves more"),
    (r"DensityMap does not need these masses", "--method series does not need these masses"),
    (r"\bdegree must be", "--degree must be"),
    (r"\b(step|nside)=", r"--\1 "),
    (r"\blarger (?=nside\b)", "larger --"),
    (r"\bsmaller (?=step\b)", "smaller --"),
    (r"\ba higher degree may resolve more", "a higher --degree may resolve more"),
)  # fmt: skip


def for_command(text: str) -> str:
    """A sentence of the library as the command says it."""
    for said, instead in WORDS:
        text = re.sub(said, instead, text)
    return text
