# Two stages: the first builds a wheel and its environment, the second only runs it.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY monitor monitor
COPY templates templates
COPY migrations migrations
COPY seeds seeds
RUN python -m venv /opt/paper-monitor \
    && /opt/paper-monitor/bin/pip install --no-cache-dir '.[postgres]'

FROM python:3.11-slim-bookworm
COPY --from=build /opt/paper-monitor /opt/paper-monitor
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin monitor \
    && install -d -o monitor -g monitor /data
ENV PATH=/opt/paper-monitor/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PAPER_MONITOR_CONFIG=/config/monitor.yaml
USER monitor
WORKDIR /data
VOLUME /data
# The service writes a heartbeat into the store at every tick; silence is illness.
HEALTHCHECK --interval=60s --timeout=20s --start-period=60s --retries=3 \
    CMD ["paper-monitor", "doctor", "--alive"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["paper-monitor"]
CMD ["serve"]
