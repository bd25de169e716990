"""Where do traces go? To settings.otlp_endpoint, by OpenTelemetry; without it nothing is imported and nothing is traced."""

from fastapi import FastAPI

from rackproof.settings import Settings

_UNTRACED = "healthz,readyz,metrics"


def install(app: FastAPI, settings: Settings) -> None:
    """Trace every request where there is somewhere to send traces to."""
    if settings.otlp_endpoint is None:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "rackproof-api", "service.version": app.version}))
    endpoint = settings.otlp_endpoint.rstrip("/")
    exporter = OTLPSpanExporter(endpoint=endpoint if endpoint.endswith("/v1/traces") else f"{endpoint}/v1/traces", timeout=10)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    FastAPIInstrumentor.instrument_app(app, tracer_provider=provider, excluded_urls=_UNTRACED)
    app.state.tracer_provider = provider


def close(app: FastAPI) -> None:
    """Send what was not sent yet."""
    provider = getattr(app.state, "tracer_provider", None)
    if provider is not None:
        provider.shutdown()
