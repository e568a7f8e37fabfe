"""A fit on S² as GeoJSON: its centre, or those of its components, their confidence regions, and the border."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmsm.display.record import components_of, plain_numbers
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.inference.centres import centres_of, ellipse_of
from tmsm.inference.delta import check_level
from tmsm.inference.fit import Fit
from tmsm.manifolds.lonlat import lonlat_of
from tmsm.regions.polygon.flattened import flat_polygons

__all__ = ["geojson_of"]


def geojson_of(fit: Fit, level: float) -> dict[str, Any]:
    """A FeatureCollection (RFC 7946), all coordinates in degrees, longitudes within ±180."""
    if not fit.region.manifold.has_longitudes:
        raise InvalidInputError(f"GeoJSON holds places on S², not points of {fit.region.manifold!r}.")
    level = check_level(level)
    features = _component_features(fit, level) or _centre_features(fit, level)
    curves = fit.region.border_curves
    if curves:
        border = _area(flat_polygons(curves, fit.region.contains))
        if border is not None:
            features.append(_feature(border, {"role": "border", "region": repr(fit.region)}))
    return {"type": "FeatureCollection", "features": features}


def _centre_features(fit: Fit, level: float) -> list[dict[str, Any]]:
    """The centre, and its confidence region where there is one."""
    region, words = _confidence_region(fit, level)
    features = [_feature(_point(fit.centre_point), _centre_properties(fit, level, words))]
    if region is not None:
        about = {"role": "confidence region", "of": None if fit.centre is None else fit.centre.name, "level": level}
        features.append(_feature(region, about))
    return features


def _component_features(fit: Fit, level: float) -> list[dict[str, Any]]:
    """The centre of each component of a mixture with its share, and the ellipse of it; none of other models."""
    features = []
    for one in components_of(fit):
        number = one["component"]
        centre = next((centre for centre in centres_of(fit) if centre.component == number), None)
        if centre is None:
            continue
        assert centre.field is not None
        ellipse = ellipse_of(fit, centre, level)
        error = one["centre_std_error"]
        own = [field for field in fit.model.fields if field.component == number]
        words = f"ellipse at {100.0 * level:g} %" if ellipse is not None else "none: the centre is hardly determined"
        about = {
            "role": "centre",
            "of": centre.field.name,
            "title": fit.heading,
            "frame": fit.frame.name,
            **{name: value for name, value in one.items() if name not in ("centre", "longitude_latitude")},
            "estimates": {field.name: plain_numbers(fit.params[field.name]) for field in own},
            "std_errors": None
            if fit.covariance is None
            else {field.name: plain_numbers(fit.std_errors[field.name]) for field in own},
            "std_error_degrees": None if error is None else float(np.degrees(error)),
            "level": level,
            "confidence_region": words if fit.covariance is not None else "none: standard errors were not computed",
            "n_samples": fit.n_samples,
        }
        features.append(_feature(_point(centre.point), about))
        area = None if ellipse is None else _area(flat_polygons([ellipse.ring], ellipse.contains))
        if area is not None:
            role = {"role": "confidence region", "of": centre.field.name, "component": number, "level": level}
            features.append(_feature(area, role))
    return features


def _centre_properties(fit: Fit, level: float, words: str) -> dict[str, Any]:
    known = fit.covariance is not None
    centre = fit.centre
    degrees = None
    if known and centre is not None and fit.undetermined is None:
        degrees = float(np.degrees(fit.std_errors[centre.name]))
    return {
        "role": "centre",
        "of": None if centre is None else centre.name,
        "title": fit.heading,
        "frame": fit.frame.name,
        "determined": fit.undetermined is None,
        "estimates": {name: plain_numbers(value) for name, value in fit.params.items()},
        "std_errors": {name: plain_numbers(value) for name, value in fit.std_errors.items()} if known else None,
        "std_error_degrees": degrees,
        "level": level,
        "confidence_region": words,
        "n_samples": fit.n_samples,
    }


def _point(centre: FloatArray | None) -> dict[str, Any] | None:
    if centre is None:
        return None
    return {"type": "Point", "coordinates": [float(angle) for angle in lonlat_of(centre)]}


def _confidence_region(fit: Fit, level: float) -> tuple[dict[str, Any] | None, str]:
    """Its geometry, None where there is none to draw, and what there is in words."""
    centre = fit.centre
    if centre is None:
        lost = fit.undetermined is not None
        return None, f"none: {'the data do not determine a centre' if lost else 'this model has no centre'}"
    if fit.covariance is None:
        return None, "none: standard errors were not computed"
    try:
        found = fit.confidence_region(centre.name, level)
    except InvalidInputError as error:
        return None, f"none: {error}"
    if found.everywhere:
        return None, "everywhere: no direction is rejected"
    if fit.undetermined is not None:
        return None, "none: the data do not determine a centre"
    area = _area(flat_polygons(found.rings, found.contains)) if found.rings else None
    if area is None:
        return None, "none: it has no border"
    reach = float(np.degrees(found.half_axes[0]))
    return area, f"reaches up to {reach:.3g}° from the centre" + (", and as far from its antipode" * centre.is_axis)


def _area(polygons: list[Any]) -> dict[str, Any] | None:
    if not polygons:
        return None
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    return {"type": "MultiPolygon", "coordinates": polygons}


def _feature(geometry: dict[str, Any] | None, properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}
