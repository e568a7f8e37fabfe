"""Small FITS files of the sky, for tests."""

import numpy as np


def healpix_file(path, values, *, nest=False, coordsys="C", width=1, pixels=None, nside=None, code="E", **cards):
    """Write a HEALPix map as surveys do; ``width`` values in a row, or ``pixels`` with numbers of their own."""
    from astropy.io import fits

    values = np.asarray(values)
    columns = [] if pixels is None else [fits.Column("PIXEL", "K", array=pixels)]
    table = values.reshape(-1, width) if width > 1 else values
    columns.append(fits.Column("SIGNAL", f"{width}{code}", array=table))
    hdu = fits.BinTableHDU.from_columns(columns)
    hdu.header["PIXTYPE"] = "HEALPIX"
    hdu.header["ORDERING"] = "NESTED" if nest else "RING"
    hdu.header["NSIDE"] = nside or round(np.sqrt(values.size / 12))
    hdu.header["INDXSCHM"] = "IMPLICIT" if pixels is None else "EXPLICIT"
    if coordsys is not None:
        hdu.header["COORDSYS"] = coordsys
    for name, value in cards.items():
        if value is None:
            del hdu.header[name]
        else:
            hdu.header[name] = value
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path, overwrite=True)
    return path


def image_file(
    path, function, *, projection="TAN", kinds=("RA---", "DEC--"), shape=(60, 80), at=(40.0, 30.0), step=0.5
):
    """Write an image of a function of unit vectors."""
    from astropy.io import fits
    from astropy.wcs import WCS

    from tmsm.manifolds.lonlat import point_at

    wcs = WCS(naxis=2)
    wcs.wcs.ctype = [kind + projection for kind in kinds]
    wcs.wcs.crval, wcs.wcs.cdelt = at, (-step, step)
    wcs.wcs.crpix = (shape[1] + 1) / 2, (shape[0] + 1) / 2
    row, column = np.mgrid[: shape[0], : shape[1]]
    with np.errstate(invalid="ignore"):
        values = function(point_at(*wcs.wcs_pix2world(column.ravel(), row.ravel(), 0))).reshape(shape)
    fits.PrimaryHDU(values, header=wcs.to_header()).writeto(path, overwrite=True)
    return path
