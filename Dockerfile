# Two stages: the first builds the environment, the second only runs it.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY monitor monitor
COPY templates templates
COPY migrations migrations
COPY seeds seeds
RUN python -m venv /opt/paper-monitor \
    && /opt/paper-monitor/bin/pip install --no-cache-dir '.[scale]'

FROM python:3.11-slim-bookworm
COPY --from=build /opt/paper-monitor /opt/paper-monitor
# Any user may run it: /data is open to whichever one the container is given.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data \
        --shell /usr/sbin/nologin monitor \
    && install -d -o 10001 -g 10001 -m 1777 /data
ENV PATH=/opt/paper-monitor/bin:$PATH \
    HOME=/data \
    PYTHONUNBUFFERED=1 \
    PAPER_MONITOR_CONFIG=/data/monitor.yaml
USER 10001:10001
WORKDIR /data
VOLUME /data
# Red when the scheduler has not ticked for five minutes, or the store takes no write.
HEALTHCHECK --interval=60s --timeout=20s --start-period=60s --retries=3 \
    CMD ["paper-monitor", "doctor", "--alive"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["paper-monitor"]
CMD ["serve"]
