"""setup.py : puts libnarrowcast.so.0, the layouts of cards (_card_layout.py) and the self-test's vectors into the package. The library is
the file $NARROWCAST_LIBRARY, or that of this tree's build folder; the layouts are beside it. Without a library the package finds that of
`make install` on the loader's path; without layouts it has no narrowcast.card."""

import os
import shutil
import subprocess

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = os.path.dirname(os.path.abspath(__file__))
NAMED = os.environ.get("NARROWCAST_LIBRARY")
TREE = os.environ.get("NARROWCAST_TREE") or os.path.join(HERE, "..", "..")
LIBRARY = NAMED or os.path.join(TREE, "build", "libnarrowcast.so.0")
HAS_LIBRARY = bool(NAMED) or os.path.exists(LIBRARY)


class WithLibrary(build_py):
    def run(self):
        super().run()
        package = os.path.join(self.build_lib, "narrowcast")
        os.makedirs(os.path.join(package, "vectors"), exist_ok=True)
        for name in ("casts.jsonl", "uncasts.jsonl"):
            shutil.copyfile(os.path.join(TREE, "tests", "conformance", "vectors", name), os.path.join(package, "vectors", name))
        layouts = os.path.join(os.path.dirname(LIBRARY), "_card_layout.py")
        if os.path.exists(layouts):
            shutil.copyfile(layouts, os.path.join(package, "_card_layout.py"))
        if HAS_LIBRARY:
            to = os.path.join(package, "libnarrowcast.so.0")
            shutil.copyfile(LIBRARY, to)
            if shutil.which("strip"):
                subprocess.run(["strip", "--strip-unneeded", to], check=True)


class OfPlatform(Distribution):
    def has_ext_modules(self):
        return HAS_LIBRARY


class AnyPython(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(distclass=OfPlatform, cmdclass={"build_py": WithLibrary, "bdist_wheel": AnyPython})
