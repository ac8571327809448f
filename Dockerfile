# The image of every role of restow: monitor, controller and consumers.
#
#   docker build --tag registry.example/restow:0.1.0 .      (podman and buildah take the same file)
#
# The last stage has Debian, its Python and Java, and /opt/restow. No compiler, no pip, no process that runs as root. It
# runs on a read-only root file system with a writable /tmp.

ARG BASE=debian:bookworm-slim

# Python and Java from one distribution, so that security fixes for both come from one source. Spark is tested on Java 17.
# (Slim images have no directory for manuals, without which Java's package doesn't install.)
FROM ${BASE} AS base
ENV LANG=C.UTF-8 \
    JAVA_HOME=/opt/java \
    PATH=/opt/restow/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates openjdk-17-jre-headless python3 \
    && ln -s /usr/lib/jvm/java-17-openjdk-* /opt/java \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

# The dependencies, by hash: the same files that the tests ran with.
FROM base AS dependencies
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-pip
COPY requirements/run.txt /build/requirements/
RUN /usr/bin/python3 -m venv --without-pip /opt/restow/venv \
    && /usr/bin/python3 -m pip --python /opt/restow/venv/bin/python install --no-cache-dir --require-hashes \
        --requirement /build/requirements/run.txt \
    && echo /opt/restow/app > "$(echo /opt/restow/venv/lib/python3.*/site-packages)/restow.pth"

# restow itself, in a directory of its own that restow.pth names, so that a release changes only a small layer.
FROM dependencies AS build
COPY pyproject.toml README.md LICENSE /build/
COPY src /build/src
RUN /usr/bin/python3 -m pip --python /opt/restow/venv/bin/python install --no-cache-dir --no-deps \
        --target /opt/restow/app /build
# Compile for any processor of this architecture: the image runs on others than the one that built it.
ENV NUMBA_CPU_NAME=generic
RUN python3 -c 'from restow.packing import warm_up; warm_up()'
# The jars with which Spark reads Kafka, and a class data archive that makes Spark start faster. Building the archive needs
# the broker's jars, which are removed again. (Some image builders give containers a host name that can't be resolved.)
ENV RESTOW_CACHE=/opt/restow/cache
RUN python3 -m restow.pipeline.spark.jars \
    && SPARK_LOCAL_IP=127.0.0.1 python3 -m restow.pipeline.spark.build_archive \
    && test -s /opt/restow/cache/classes/*.jsa \
    && rm -rf /opt/restow/cache/jars/kafka-* /opt/restow/cache/*/*.lock

FROM base
# The user by number: Kubernetes can verify that a number is not root, but not that a name is not.
RUN echo 'restow:x:10001:' >> /etc/group \
    && echo 'restow:x:10001:10001:restow:/tmp:/usr/sbin/nologin' >> /etc/passwd
COPY --from=dependencies /opt/restow/venv /opt/restow/venv
COPY --from=build /opt/restow/cache /opt/restow/cache
COPY --from=build /opt/restow/app /opt/restow/app
ENV PATH=/opt/restow/app/bin:/opt/restow/venv/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    MPLCONFIGDIR=/tmp/matplotlib \
    NUMBA_CPU_NAME=generic \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    RESTOW_CACHE=/opt/restow/cache
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["restow"]
CMD ["--help"]
