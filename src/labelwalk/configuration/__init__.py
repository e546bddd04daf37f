"""Settings of the command line, checked by one model wherever they come from."""

from labelwalk.configuration.gathering import gathered
from labelwalk.configuration.model import Configuration, ConfigurationError, panel_of

__all__ = ["Configuration", "ConfigurationError", "gathered", "panel_of"]
