"""Stands where a plugin will be: the first call of `init` brings the modules of the plugin, and after it this one is gone."""

import gc
import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

import wit_world
from componentize_py_types import Err
from wit_world.imports import environment  # noqa: F401

# `host build` puts platform.py before this, and at the end the imports of the plugin from the standard library, its classes, and
# failures.py.


def bring_in(package):
    """Imports what is generated from the contract, which is not there later."""
    for name in sorted({name.partition(".")[0] for name in os.listdir(package.__path__[0])}):
        if not name.startswith("__"):
            module = import_module(f"{package.__name__}.{name}")
            if hasattr(module, "__path__"):
                bring_in(module)


class Texts:
    """Finds modules among texts, by the paths of their files."""

    def __init__(self, texts):
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        stem = name.replace(".", "/")
        for file in (f"{stem}/__init__.py", f"{stem}.py"):
            if file in self.texts:
                is_package = file != f"{stem}.py"
                # Where the whole build has the folder of the plugin, so that tracebacks are the same.
                spec = ModuleSpec(name, self, origin=f"/0/{file}", is_package=is_package)
                spec.has_location = True
                if is_package:
                    spec.submodule_search_locations = [f"/0/{stem}"]
                return spec
        if any(file.startswith(f"{stem}/") for file in self.texts):
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [f"/0/{stem}"]
            return spec
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        file = module.__spec__.origin
        exec(compile(self.texts[file.removeprefix("/0/")], file, "exec", dont_inherit=True), module.__dict__)


class Later:
    """Stands for an instance of a class of the plugin."""

    all = []

    def __init__(self):
        Later.all.append(self)


class Node(Later):
    def init(self, me, cluster_size, config, durable):
        main, *files = config.split("\0")
        texts = dict(zip(files[::2], files[1::2], strict=True))
        own = {file.partition("/")[0].removesuffix(".py") for file in texts}
        taken = own & (sys.stdlib_module_names | {name.partition(".")[0] for name in sys.modules})
        if taken:
            raise Err(f"there are modules named {sorted(taken)} already")
        finder = Texts(texts)
        sys.meta_path.insert(0, finder)
        try:
            plugin = import_module(main)
        except Exception as error:
            raise Err(repr(error)) from error
        finally:
            sys.meta_path.remove(finder)
        for instance in Later.all:
            instance.__class__ = getattr(plugin, type(instance).__name__)
            instance.__init__()
        Later.all.clear()
        del finder.texts
        gc.collect()
        return []


bring_in(wit_world)
