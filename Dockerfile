# The one image that every role of restow runs: the monitor, the controller, the consumers.
#
#   docker build --tag registry.example/restow:0.1.0 .      (podman and buildah take the same file)
#
# What is in its last stage: Debian, its Python and its Java, and /opt/restow. No compiler, no pip, nothing that runs as
# root, nothing that is written to while it runs: it serves on a read-only root file system with a /tmp.

ARG BASE=debian:bookworm-slim

# Python and Java of one distribution, so that one source has the fixes for both; 17 is the Java that Spark is tested on.
# (Slim images have no directory for manuals, and Java's package does not install without one.)
FROM ${BASE} AS base
ENV LANG=C.UTF-8 \
    JAVA_HOME=/opt/java \
    PATH=/opt/restow/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates openjdk-17-jre-headless python3 \
    && ln -s /usr/lib/jvm/java-17-openjdk-* /opt/java \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

# What restow needs, byte for byte what its tests ran with.
FROM base AS dependencies
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-pip
COPY requirements/run.txt /build/requirements/
RUN /usr/bin/python3 -m venv --without-pip /opt/restow/venv \
    && /usr/bin/python3 -m pip --python /opt/restow/venv/bin/python install --no-cache-dir --require-hashes \
        --requirement /build/requirements/run.txt \
    && echo /opt/restow/app > "$(echo /opt/restow/venv/lib/python3.*/site-packages)/restow.pth"

# restow itself, in a directory of its own that restow.pth names: the layer that each release changes stays small.
FROM dependencies AS build
COPY pyproject.toml README.md LICENSE /build/
COPY src /build/src
RUN /usr/bin/python3 -m pip --python /opt/restow/venv/bin/python install --no-cache-dir --no-deps \
        --target /opt/restow/app /build
# For any processor of this kind: an image is built on one and runs on another, which would have to compile anew.
ENV NUMBA_CPU_NAME=generic
RUN python3 -c 'from restow.packing import warm_up; warm_up()'
# The jars that Spark reads Kafka with, and Spark's classes in a form that starts sooner. The broker's jars are for making
# the latter alone. (Not everything that builds images gives a container a host name that can be looked up.)
ENV RESTOW_CACHE=/opt/restow/cache
RUN python3 -c 'from restow.java.jars import fetch; from restow.pipeline.spark.jars import CONNECTOR; fetch(CONNECTOR, print)' \
    && SPARK_LOCAL_IP=127.0.0.1 python3 -m restow.pipeline.spark.build_archive \
    && test -s /opt/restow/cache/classes/*.jsa \
    && rm -rf /opt/restow/cache/jars/kafka-* /opt/restow/cache/*/*.lock

FROM base
# By its number everywhere: Kubernetes can tell that a number is not root's, and not that a name is not.
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
