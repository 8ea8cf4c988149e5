"""The assembled application: `build(settings) -> App`."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("quaere")
except PackageNotFoundError:  # run from a checkout that is not installed
    __version__ = "0+unknown"
