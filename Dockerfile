# Two stages: the first builds the environment, the second only runs it. docs/docker.md says how to
# pin the base image by its digest; `make lock` writes requirements/.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
COPY requirements requirements
RUN pip install --no-cache-dir --require-hashes --no-deps --requirement requirements/build.txt \
    && python -m venv --without-pip /opt/paper-monitor \
    && pip --python /opt/paper-monitor/bin/python install --no-cache-dir --no-compile \
        --require-hashes --no-deps --only-binary :all: --requirement requirements/image.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY monitor monitor
COPY templates templates
COPY migrations migrations
COPY seeds seeds
ARG COMMIT=""
# Neither tests nor what only a compiler reads. Times are whole seconds: an image may keep no more.
RUN PAPER_MONITOR_COMMIT="${COMMIT}" \
        pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
    && pip --python /opt/paper-monitor/bin/python install --no-cache-dir --no-compile --no-deps \
        --no-index /wheels/*.whl \
    && find /opt/paper-monitor -depth \( -type d -name tests -o -path '*/sqlalchemy/testing' \
        -o -path '*/alembic/testing' -o -name '*.pyi' -o -name '*.px[di]' -o -name '*.[ach]' \) \
        -exec rm -r {} + \
    && find /opt/paper-monitor -name '*.py' -exec touch --date 2000-01-01 {} +

FROM ${BASE}
ARG COMMIT=""
LABEL org.opencontainers.image.title="Paper Monitor" \
    org.opencontainers.image.description="Digests of new research papers that match your topics" \
    org.opencontainers.image.licenses="MIT AND LGPL-3.0-only AND MPL-2.0" \
    org.opencontainers.image.version="0.2.0" \
    org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /opt/paper-monitor /opt/paper-monitor
# Any user may run it: /data is open to whichever one the container is given.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data \
        --shell /usr/sbin/nologin monitor \
    && install -d -o 10001 -g 10001 -m 1777 /data
ENV PATH=/opt/paper-monitor/bin:$PATH \
    HOME=/data \
    PYTHONUNBUFFERED=1 \
    PAPER_MONITOR_CONFIG=/data/monitor.yaml
# What a run imports is compiled, of Python, too, which comes without: each health check would
# compile it anew, since nobody can write here. All of it would be a quarter of the image.
RUN paper-monitor demo /tmp/demo \
    && paper-monitor status --config /tmp/demo/monitor.yaml \
    && python -c "import monitor.channels.apprise.service, monitor.channels.slack.socket_mode, monitor.cli.doctor, \
        monitor.commands.export, monitor.commands.slack_answers, monitor.http.client, \
        monitor.service.scheduler, monitor.service.workers, monitor.sources.feed.xml_feed, \
        monitor.web.server, procrastinate, psycopg_pool" \
    && python -m compileall -q /opt/paper-monitor/lib/python*/site-packages/monitor \
    && rm -r /tmp/demo
USER 10001:10001
WORKDIR /data
VOLUME /data
# The demo, and pages where monitor.yaml has them listen on 0.0.0.0:8080.
EXPOSE 8080
# Red when the scheduler has not ticked for five minutes, or the store takes no write.
HEALTHCHECK --interval=60s --timeout=20s --start-period=60s --retries=3 \
    CMD ["paper-monitor", "doctor", "--alive"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["paper-monitor"]
# An empty /data gets a commented monitor.yaml; until it is edited, the demo is shown.
CMD ["serve", "--first-start", "0.0.0.0:8080"]
