"""Sums over rows on S² by compiled loops: a block of rows at a time, without arrays in between.

`program` says what of this there is for a region, a weight and a family; everything else goes by arrays.
"""
