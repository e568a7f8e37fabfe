"""``python -m benchmarks [part …]``: every figure with its limit, in one run; or some parts of it."""

import sys

import numpy as np

import tmsm
from benchmarks import (
    borders,
    checks,
    families,
    heavy_tail,
    log_density,
    manifolds,
    maps,
    mixtures,
    regression,
    robust,
    scale,
    speed,
)
from scenarios import (
    cap,
    direction_energy,
    ellipsoid,
    hemisphere,
    hyperbolic,
    ovals,
    paper,
    rotations,
    triangle,
    united_states,
)
from tmsm_experiments.weights.settings import settings
from tmsm_experiments.weights.simulate import EXACT, simulate

ROWS = 10_000_000


def report(name, value, unit, limit):
    verdict = "ok" if limit[0] <= value <= limit[1] else "OVER"
    span = (
        f"<= {limit[1]:g}"
        if limit[0] == 0
        else f">= {limit[0]:g}"
        if np.isinf(limit[1])
        else f"{limit[0]:g} to {limit[1]:g}"
    )
    span = "" if limit == (0, np.inf) else span
    print(f"{name:<62} {value:>9.4g} {unit:<9} {span:<17} {verdict}", flush=True)


def around(value, margin):
    return value - margin, value + margin


def note(text):
    print(f"… {text}", file=sys.stderr, flush=True)


def run_speed():
    print("\nSpeed: von Mises–Fisher on a cap, weight 'auto' (normal-only)")
    note(f"drawing {ROWS:,} rows")
    X = cap.sample(ROWS)
    report(f"peak extra memory at {ROWS:,} rows", cap.peak_memory(X) / 1e6, "MB", (0, 100))
    report("peak extra memory at 100,000 rows", cap.peak_memory(X[:100_000]) / 1e6, "MB", (0, 100))
    report("fit of 1,000 rows with standard errors", 1e3 * speed.small_fit(), "ms", (0, 1))
    spent, ratio = speed.bootstrap_seconds()
    report("bootstrap(1000) of 10,000 rows in a LonLatBox", spent, "s", (0, 10))
    report("… one resample against the fit itself", ratio, "times", (0, 0.5))
    own, numpy = speed.import_seconds()
    report(f"import tmsm (of which NumPy {numpy:.3f})", own, "s", (0, 0.3))


def run_scale():
    print("\nMany rows: compiled loops, threads, files, graphics cards")
    note("measuring; the table goes to docs/performance.md")
    for line in scale.scale_rows(note):
        report(*line)


def run_accuracy():
    print("\nAccuracy: von Mises–Fisher, κ = 6, mean on the border of the hemisphere, n = 1,000, 500 seeds")
    note("simulating")
    rows = hemisphere.simulate(1000, 500)

    def kappa_error(name):
        return float(np.abs(rows[name]["kappa"] - hemisphere.KAPPA).mean())

    def angle(name):
        return float(rows[name]["angle"].mean())

    report("angle error (the paper's RMSE), geodesic", angle("geodesic"), "rad", around(0.0163, 0.0012))
    report("angle error, geodesic, κ known", angle("known"), "rad", around(0.0136, 0.001))
    report("angle error, projected", angle("projected"), "rad", around(0.0163, 0.0012))
    report("angle error, naive likelihood", angle("naive"), "rad", around(0.175, 0.002))
    report("mean κ of the naive likelihood", float(rows["naive"]["kappa"].mean()), "", around(8.85, 0.05))
    report("mean |κ̂ − κ|, geodesic", kappa_error("geodesic"), "", around(0.237, 0.025))
    report("mean |κ̂ − κ|, normal-only", kappa_error("normal"), "", around(0.186, 0.02))
    report("… over that of the exact likelihood", kappa_error("normal") / kappa_error("exact"), "times", (0, 1.03))
    note("simulating coverage, 2,000 seeds")
    rows = hemisphere.simulate(300, 2000, seed=10**6, only=("geodesic", "normal"))
    for name in ("geodesic", "normal"):
        report(f"95 % interval of κ at n = 300 covers, {name}", 100 * rows[name]["covered"].mean(), "%", (93, 97))


def run_borders():
    print("\nBorders: signed distance and gradient of 1,000,000 points, one thread")
    note("compiling, and reading what was compiled")
    first, later = borders.compile_seconds()
    note("querying, and S2 for comparison")
    measured = borders.ratios()
    limits = {200: 0.5, 2_000: 1.5, 20_000: 4.0}
    for m, (ours, ratio, _, extra) in measured.items():
        report(f"{m:,} vertices", ours, "s", (0, limits[m]))
        report(f"{m:,} vertices, against spherely.distance", ratio, "times", (25, np.inf))
        report(f"{m:,} vertices, memory beyond input and output", extra / 1e6, "MB", (0, 100))
    report("tree over 20,000 vertices", measured[20_000][2], "s", (0, 0.2))
    report(
        "time at 20,000 over time at 200 vertices (100 would be linear)",
        measured[20_000][0] / measured[200][0],
        "times",
        (0, 10),
    )
    note("flat polygons, masks, islands, large files")
    for m in (20_000, 50_000):
        ours, every = borders.flat_seconds(m)
        report(f"10,000 points against {m:,} edges in the plane", ours, "s", (0, 0.2))
        report("… against trying every edge in NumPy", 100 * every / ours, "times", (50, np.inf))
    spent, vertices, peak = borders.mask_seconds()
    report("outline of half of all pixels, nside 64", spent, "s", (0, 5))
    report("… its vertices", vertices, "", (0, 300_000))
    report("… peak memory", peak / 1e6, "MB", (0, 500))
    spent, ratio = borders.island_seconds()
    report("5,000 islands from GeoJSON", spent, "s", (0, 2))
    report("… against one ring of as many vertices", ratio, "times", (0, 30))
    read, written = borders.geojson_seconds()
    report("GeoJSON of 1,000,000 vertices read, against json.loads", read, "times", (0, 6))
    report("… and written, against json.dumps", written, "times", (0, 3))
    report("first region ever, compilation included", first, "s", (0, np.inf))
    report("first region of a later run, from the cache on disk", later, "s", (0, np.inf))


def run_united_states():
    print("\nBorder of the contiguous United States: κ̂ of the geodesic weight, n = 10,000, 100 seeds")
    note("simulating")
    usa = tmsm.datasets.load_border("usa")
    for lonlat, kappa, spread in united_states.SETTINGS:
        found = united_states.estimates(usa, lonlat, kappa, range(united_states.REPEATS))
        error = 3 * found.std() / np.sqrt(len(found))
        report(f"mean for κ = {kappa:g} round {lonlat}, three standard errors", found.mean(), "", around(kappa, error))
        report("… its spread", found.std(), "", around(spread, 4 * spread / np.sqrt(2 * len(found))))
    lonlat, kappa, _ = united_states.SETTINGS[1]
    note("simulating the exact likelihood, 300 seeds")
    for name, fitted in united_states.likelihoods(usa, lonlat, kappa, range(300)).items():
        rmse = float(np.sqrt(np.mean((fitted - kappa) ** 2)))
        report(f"{name}: RMSE of κ = {kappa:g} round {lonlat} (bound 1.44)", rmse, "", (0, 1.55))


def run_families():
    print("\nKent, κ = 10, β = 3, mean on the border of the hemisphere, geodesic weight, n = 1,000")

    def size(values):
        return float(np.sqrt(np.mean(np.square(values))))

    note("simulating, 300 seeds with all known, 2,000 with nothing known")
    report("‖μ̂ − μ‖, all known", size(ovals.simulate(tmsm.Kent(10.0, 3.0), 300)["error"]), "", around(0.031, 0.004))
    rows = ovals.simulate(tmsm.Kent(), 2000)
    report("‖μ̂ − μ‖, all unknown", size(rows["error"]), "", around(0.047, 0.006))
    report("mean of κ̂", rows["concentration"].mean(), "", around(10.1, 0.8))
    report("mean of β̂", rows["ovalness"].mean(), "", around(3.1, 0.8))
    names = ("κ", "β", "the turn of the mean along the oval", "… across it", "the turn of the oval")
    for name, values in zip(names, rows["standardised"].T, strict=True):
        report(f"95 % interval of {name} covers", 100 * (np.abs(values) < 1.96).mean(), "%", (93, 97))
    failures = 2000 - int(np.count_nonzero(rows["error"] < 0.5))  # no estimate, or one at a wrong optimum
    report("failures in 2,000 seeds", failures, "", (0, 0.5))
    report("one fit of 1,000 rows, all unknown", 1e3 * families.fit_seconds(), "ms", (0, 10))

    print("\nExact likelihood under truncation")
    note("simulating, 400 seeds")
    fits = families.simulate_likelihood(3000, 400)
    report("hemisphere, κ = 6, n = 3,000: RMSE of κ", size(fits["kappa"] - 6.0), "", around(0.138, 0.012))
    report("… of μ", size(fits["error"]), "", around(0.0197, 0.0015))
    report("… one fit after the nodes are built", 1e3 * fits["seconds"], "ms", (0, 10))
    report("… RMSE of κ of one Newton step from score matching, over it", fits["refined"], "times", around(1.0, 0.03))

    print("\nSamplers")
    for name, rate in families.acceptances().items():
        report(f"acceptance, {name}", 100 * rate, "%", (10, 100))
    report("1,000,000 von Mises–Fisher rows", families.sample_seconds(), "s", (0, 0.5))


def run_weights():
    places = {setting.name: setting for setting in settings()}

    def results(name, n, n_seeds, weights, exact=None):
        note(f"{name}, n = {n:,}, {n_seeds} seeds")
        return {result.weight: result for result in simulate(places[name], n, range(n_seeds), weights, exact)}

    print("\nThe default weight against the exact likelihood: von Mises–Fisher, κ = 6, 600 seeds")
    for name in ("hemisphere", "cap"):
        for n in (100, 300, 1000, 3000):
            found = results(name, n, 600, ["auto"])
            ours, exact = found["auto"], found[EXACT]
            report(f"{name}, n = {n:,}: RMSE of κ over its", ours.size_rmse / exact.size_rmse, "times", (0, 1.04))
            report("… of μ", ours.direction_rmse / exact.direction_rmse, "times", (0, 1.04))
            limit = 100 * abs(exact.relative_bias) + 2
            report("… bias of κ", 100 * abs(ours.relative_bias), "%", (0, limit))
    print("\nThe default weight against the Cramér–Rao bound")
    for name, n_seeds in (("S4", 1000), ("S9", 400), ("box in R2", 3000), ("box in R3", 1000), ("box in R5", 600)):
        n = 2000
        result = results(name, n, n_seeds, ["auto"], exact=False)["auto"]
        report(f"{name}, n = {n:,} (± {result.efficiency_error:.3f})", result.efficiency, "", (0.97, np.inf))
        report("… by its stated covariance", result.stated, "", (0.97, np.inf))
    singles = ("geodesic", "saturating", "projected")
    for name in (name for name in places if name.startswith("US")):
        found = results(name, 10_000, 100, ["combined", *singles])
        best = max(found[weight].stated for weight in singles)
        report(f"{name}, n = 10,000: combined, share of the bound", found["combined"].stated, "", (best, np.inf))
        refined = results(name, 10_000, 60, ["refined"])["refined"]
        report("… and one step from it, against the exact likelihood", refined.efficiency, "", (0.95, np.inf))


def run_checks():
    print("\nTests of the model at 5 %, hemisphere")
    mises, kent, oval = checks.MISES, checks.KENT, checks.OVAL
    fitted = tmsm.VonMisesFisher()
    note("simulating the size of the over-identification test, 1,000 seeds each")
    for n in (500, 1000):
        for label, truth in (("von Mises–Fisher", mises), ("Kent", kent)):
            size = checks.rejections(truth, truth[0], n, 1000, stein=False)
            report(f"over-identification, {label}, n = {n:,}: rejects when right", 100 * size, "%", (4, 7))
    note("simulating the size of the Stein test, 1,000 seeds each")
    for label, truth, family, n in (
        ("von Mises–Fisher", mises, fitted, 300),
        ("von Mises–Fisher", mises, fitted, 500),
        ("von Mises–Fisher", mises, fitted, 1000),
        ("Fisher–Bingham", kent, tmsm.FisherBingham(), 1000),
    ):
        size = checks.rejections(truth, family, n, 1000, stein=True)
        report(f"Stein test, {label}, n = {n:,}: rejects when right", 100 * size, "%", (3.5, 6.5))
    note("simulating power, 60 seeds each")
    closer = tmsm.Cap([-1.0, 0, 0], np.pi / 2 - 0.15)
    for label, stein in (("over-identification", False), ("Stein test", True)):
        for wrong, options in (
            ("Kent(10, 4) as von Mises–Fisher", {"truth": oval}),
            ("border 0.15 rad too far out", {"truth": mises, "seen": closer}),
            ("10 % uniform rows", {"truth": mises, "noise": 0.1}),
        ):
            power = checks.rejections(fitted=fitted, n=1000, n_seeds=60, stein=stein, **options)
            report(f"{label}, n = 1,000: {wrong}", 100 * power, "%", (95, 100))
    report_stein_test()
    note("simulating coverage, 1,000 seeds each")
    for label, truth, n, weight, limit in (
        ("von Mises–Fisher", mises, 300, "auto", (93, 97)),
        ("von Mises–Fisher", mises, 1000, "auto", (93, 97)),
        ("Kent", kent, 500, "combined", (91, 97)),
        ("Kent", kent, 1000, "auto", (93, 97)),
    ):
        for name, share in checks.coverage(truth, n, 1000, weight).items():
            report(f"{label}, {weight}, n = {n:,}: 95 % region of {name} covers", 100 * share, "%", limit)
    turns = ovals.simulate(tmsm.Kent(), 2000, "auto")["standardised"].T[2:]
    for name, values in zip(("along the oval", "across it", "of the oval"), turns, strict=True):
        report(
            f"Kent, auto, n = 1,000: 95 % interval of the turn {name}",
            100 * (np.abs(values) < 1.96).mean(),
            "%",
            (93, 97),
        )


def report_stein_test():
    note("comparing both methods of the Stein test")
    coast, half = checks.stein_ratios()
    report("Stein test of 100,000 rows on the US border, over the default fit", coast, "times", (0, 3))
    report("… on the hemisphere, over that fit", half, "times", (0, 3))
    growth, pairs = checks.stein_growth(10_000, 1_000_000)
    report("Stein test of 1,000,000 rows over 10,000 (100 is linear)", growth, "times", (0, 110))
    report("… of 10,000 rows by all pairs, over it", pairs, "times", (50, np.inf))
    report("Stein test of 1,000,000 rows, memory", checks.stein_memory() / 1e6, "MB", (0, 300))
    for label, truth in (("right", checks.MISES), ("wrong by little", checks.SLIGHT)):
        difference, chance = checks.stein_agreement(truth, tmsm.VonMisesFisher(), 2000, 10)
        title = f"model {label}, n = 2,000: p-values differ from all pairs'"
        report(f"{title} ({chance:.3f} by chance)", difference, "", (0, 0.02))


def run_manifolds():
    print("\nAny manifold: the Cramér–Rao bound over the asymptotic covariance, by integrals")
    note("integrating")
    report_efficiencies()
    print("\nAny manifold: 95 % intervals, and those of estimators that ignore the border of the same rows")
    report_coverages()
    print("\nAny manifold: speed")
    spent, compiling = manifolds.autodiff_seconds()
    report("100,000 rows, eight statistics, all by autodiff, one weight", spent, "s", (0, 1))
    report("… compiling", compiling, "s", (0, 5))
    for name, (estimate, full) in manifolds.row_ratios().items():
        report(f"1,000,000 rows, {name}, estimate alone, against X.T @ X", estimate, "times", (0, 15))
        report("… with standard errors", full, "times", (0, np.inf))


def report_efficiencies():
    def share(name, value, least=0):
        report(name, 100 * value, "%", (least, np.inf))

    for setting, limit in (("inside", 95), ("edge", 0), ("corner", 84), ("outside", 86), ("three angles", 89)):
        single, default, plain = manifolds.torus_efficiencies(setting)
        share(f"box of angles, {setting}: single weight (g = d: {100 * plain:.0f} %)", single, limit)
        share("… default at n = 3,000", default, limit)
    for setting in rotations.REGIONS:
        default, plain = manifolds.rotation_efficiencies(setting)
        share(f"rotations, {setting} (g = d: {100 * plain:.0f} %)", default, 94)
    for setting in direction_energy.SETTINGS:
        single, default, plain = manifolds.product_efficiencies(setting)
        share(f"direction × energy, {setting}: single (g = d: {100 * plain:.0f} %)", single, 95)
        share("… default at n = 3,000", default, 95)
        change = max(manifolds.unit_change(setting, *units) for units in ((1000.0, 0.0), (0.01, 3.0)))
        report("… other units move the estimate by, of its error", change, "", (0, 1e-9))
    for family in triangle.FAMILIES:
        for setting in triangle.SETTINGS:
            plain, saturating, alone, two_scales, three = manifolds.triangle_efficiencies(family, setting)
            share(f"triangle, {family}, {setting}: g = d", plain)
            share("… saturating", saturating)
            share("… constraints alone", alone)
            share("… combined, level 1", two_scales)
            share("… combined, level 2", three, 92)
    for border, alone_limit, limit in ((ellipsoid.flat, 80, 95), (ellipsoid.wavy, 75, 85)):
        for statistics in (ellipsoid.linear, ellipsoid.quadratic):
            alone, both, plain = manifolds.ellipsoid_efficiencies(statistics, border)
            title = f"ellipsoid, {border.__name__} border, {statistics.__name__}"
            share(f"{title}: alone (g = h: {100 * plain:.0f} %)", alone, alone_limit)
            share("… combined, level 2", both, limit)
    for place in hyperbolic.PLACES:
        default, plain = manifolds.hyperbolic_efficiencies(place)
        share(f"hyperbolic plane, {place} (g = d: {100 * plain:.0f} %)", default, 97)


def report_coverages():
    # The control must fail: far fewer than 95 %.
    ignored, control = "… all covered where the border is ignored", (0, 60)
    for setting, limit in (("inside", (92, 98)), ("edge", (91, 100))):
        note(f"box of angles, {setting}, 400 seeds")
        found = manifolds.simulate_torus(setting, 400)
        ours, refined, exact, naive = (found[name] for name in ("ours", "refined", "exact", "naive"))
        largest = 1.15 if setting == "inside" else np.inf
        for name in ours.covered:
            report(f"box of angles, {setting}, n = 3,000: {name} covered", ours.coverage(name), "%", limit)
            ratio, refined_ratio = (float((one.rmse(name) / exact.rmse(name)).max()) for one in (ours, refined))
            report("… largest RMSE over the exact likelihood's", ratio, "times", (0, largest))
            # On an edge the likelihood of some samples has two optima, and the two searches may end in different ones.
            report("… after one step to it", refined_ratio, "times", around(1, 0.03))
        report(ignored, naive.total_coverage(), "%", control)
    for setting in rotations.REGIONS:
        note(f"rotations, {setting}, 150 seeds")
        found = manifolds.simulate_rotations(setting, 150)
        for name in found["ours"].covered:
            report(f"rotations, {setting}, n = 1,000: {name} covered", found["ours"].coverage(name), "%", (92, 98))
        report(ignored, found["naive"].total_coverage(), "%", control)
    for border in (ellipsoid.flat, ellipsoid.wavy):
        for statistics in (ellipsoid.linear, ellipsoid.quadratic):
            title = f"ellipsoid, {border.__name__}, {statistics.__name__}, n = 3,000"
            note(f"{title}, 300 seeds")
            found = manifolds.simulate_ellipsoid(statistics, border, 300)
            report(f"{title}: covered", found["ours"].total_coverage(), "%", (92, 98))
            report(ignored, found["naive"].total_coverage(), "%", control)
    note("half of S^49, 400 seeds")
    ours, naive = manifolds.simulate_many_dimensions(400)
    for k, name in enumerate(("region of the mean", "interval of κ")):
        report(f"half of S⁴⁹, n = 2,000: 95 % {name} covers", ours[k], "%", (92, 98))
        report(ignored, naive[k], "%", control)


def run_densities():
    for title, lines in (
        ("Any density: by its logarithm", log_density.log_density_rows),
        ("Any density: mixtures", mixtures.mixture_rows),
        ("Any density: heavy tails", heavy_tail.heavy_tail_rows),
        ("Any density: covariates, n = 3,000", regression.regression_rows),
        ("Any density: outliers", robust.robust_rows),
    ):
        print(f"\n{title}")
        note("simulating")
        for line in lines():
            report(*line)


def run_maps():
    print("\nDensity maps: Kullback–Leibler divergence inside the border, everything chosen by the rows")
    note("simulating; the tables go to docs/maps.md")
    for line in maps.map_rows():
        report(*line)


def run_hazards():
    print("\nDensity maps: public points of natural hazards")
    note("fitting five splits of each; the tables go to docs/maps.md")
    for line in maps.hazard_rows():
        report(*line)


def run_paper():
    print("\nThe paper's benchmark, 512 trials: mean errors against an independent simulation (three standard errors)")
    note("simulating")
    found = paper.simulate(jobs=2)
    for (experiment, quantity, n), expected in paper.INDEPENDENT.items():
        result = found[experiment, quantity, n]
        for method, value in expected.items():
            limit = around(value, paper.tolerance(result, method, value))
            report(f"{experiment.title}, n = {n:,}, {quantity}: {method}", result.mean(method)[0], "", limit)
    report("the whole study on two processes", speed.whole_study_seconds(), "s", (0, 180))


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for name, run in list(globals().items()):
        if name.startswith("run_") and (not chosen or name.removeprefix("run_") in chosen):
            run()
