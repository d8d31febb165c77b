package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Runs turns, keeps them as exchanges, and branches from them.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ExchangeServiceGrpc {

  private ExchangeServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.ExchangeService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.RunRequest,
      antiphon.gen.RunResponse> getRunMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Run",
      requestType = antiphon.gen.RunRequest.class,
      responseType = antiphon.gen.RunResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.RunRequest,
      antiphon.gen.RunResponse> getRunMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.RunRequest, antiphon.gen.RunResponse> getRunMethod;
    if ((getRunMethod = ExchangeServiceGrpc.getRunMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getRunMethod = ExchangeServiceGrpc.getRunMethod) == null) {
          ExchangeServiceGrpc.getRunMethod = getRunMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.RunRequest, antiphon.gen.RunResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Run"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Run"))
              .build();
        }
      }
    }
    return getRunMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.CaptureRequest,
      antiphon.gen.CaptureResponse> getCaptureMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Capture",
      requestType = antiphon.gen.CaptureRequest.class,
      responseType = antiphon.gen.CaptureResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.CaptureRequest,
      antiphon.gen.CaptureResponse> getCaptureMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.CaptureRequest, antiphon.gen.CaptureResponse> getCaptureMethod;
    if ((getCaptureMethod = ExchangeServiceGrpc.getCaptureMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getCaptureMethod = ExchangeServiceGrpc.getCaptureMethod) == null) {
          ExchangeServiceGrpc.getCaptureMethod = getCaptureMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.CaptureRequest, antiphon.gen.CaptureResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Capture"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CaptureRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CaptureResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Capture"))
              .build();
        }
      }
    }
    return getCaptureMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.StreamCaptureRequest,
      antiphon.gen.StreamCaptureResponse> getStreamCaptureMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamCapture",
      requestType = antiphon.gen.StreamCaptureRequest.class,
      responseType = antiphon.gen.StreamCaptureResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.StreamCaptureRequest,
      antiphon.gen.StreamCaptureResponse> getStreamCaptureMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.StreamCaptureRequest, antiphon.gen.StreamCaptureResponse> getStreamCaptureMethod;
    if ((getStreamCaptureMethod = ExchangeServiceGrpc.getStreamCaptureMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getStreamCaptureMethod = ExchangeServiceGrpc.getStreamCaptureMethod) == null) {
          ExchangeServiceGrpc.getStreamCaptureMethod = getStreamCaptureMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.StreamCaptureRequest, antiphon.gen.StreamCaptureResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamCapture"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamCaptureRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamCaptureResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("StreamCapture"))
              .build();
        }
      }
    }
    return getStreamCaptureMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.RecordRequest,
      antiphon.gen.RecordResponse> getRecordMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Record",
      requestType = antiphon.gen.RecordRequest.class,
      responseType = antiphon.gen.RecordResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.RecordRequest,
      antiphon.gen.RecordResponse> getRecordMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.RecordRequest, antiphon.gen.RecordResponse> getRecordMethod;
    if ((getRecordMethod = ExchangeServiceGrpc.getRecordMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getRecordMethod = ExchangeServiceGrpc.getRecordMethod) == null) {
          ExchangeServiceGrpc.getRecordMethod = getRecordMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.RecordRequest, antiphon.gen.RecordResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Record"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RecordRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RecordResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Record"))
              .build();
        }
      }
    }
    return getRecordMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ContinueRequest,
      antiphon.gen.ContinueResponse> getContinueMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Continue",
      requestType = antiphon.gen.ContinueRequest.class,
      responseType = antiphon.gen.ContinueResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ContinueRequest,
      antiphon.gen.ContinueResponse> getContinueMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ContinueRequest, antiphon.gen.ContinueResponse> getContinueMethod;
    if ((getContinueMethod = ExchangeServiceGrpc.getContinueMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getContinueMethod = ExchangeServiceGrpc.getContinueMethod) == null) {
          ExchangeServiceGrpc.getContinueMethod = getContinueMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ContinueRequest, antiphon.gen.ContinueResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Continue"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ContinueRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ContinueResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Continue"))
              .build();
        }
      }
    }
    return getContinueMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.StreamContinueRequest,
      antiphon.gen.StreamContinueResponse> getStreamContinueMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamContinue",
      requestType = antiphon.gen.StreamContinueRequest.class,
      responseType = antiphon.gen.StreamContinueResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.StreamContinueRequest,
      antiphon.gen.StreamContinueResponse> getStreamContinueMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.StreamContinueRequest, antiphon.gen.StreamContinueResponse> getStreamContinueMethod;
    if ((getStreamContinueMethod = ExchangeServiceGrpc.getStreamContinueMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getStreamContinueMethod = ExchangeServiceGrpc.getStreamContinueMethod) == null) {
          ExchangeServiceGrpc.getStreamContinueMethod = getStreamContinueMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.StreamContinueRequest, antiphon.gen.StreamContinueResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamContinue"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamContinueRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamContinueResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("StreamContinue"))
              .build();
        }
      }
    }
    return getStreamContinueMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.PrepareRequest,
      antiphon.gen.PrepareResponse> getPrepareMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Prepare",
      requestType = antiphon.gen.PrepareRequest.class,
      responseType = antiphon.gen.PrepareResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.PrepareRequest,
      antiphon.gen.PrepareResponse> getPrepareMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.PrepareRequest, antiphon.gen.PrepareResponse> getPrepareMethod;
    if ((getPrepareMethod = ExchangeServiceGrpc.getPrepareMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getPrepareMethod = ExchangeServiceGrpc.getPrepareMethod) == null) {
          ExchangeServiceGrpc.getPrepareMethod = getPrepareMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.PrepareRequest, antiphon.gen.PrepareResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Prepare"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.PrepareRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.PrepareResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Prepare"))
              .build();
        }
      }
    }
    return getPrepareMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ExplainRequest,
      antiphon.gen.ExplainResponse> getExplainMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Explain",
      requestType = antiphon.gen.ExplainRequest.class,
      responseType = antiphon.gen.ExplainResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ExplainRequest,
      antiphon.gen.ExplainResponse> getExplainMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ExplainRequest, antiphon.gen.ExplainResponse> getExplainMethod;
    if ((getExplainMethod = ExchangeServiceGrpc.getExplainMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getExplainMethod = ExchangeServiceGrpc.getExplainMethod) == null) {
          ExchangeServiceGrpc.getExplainMethod = getExplainMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ExplainRequest, antiphon.gen.ExplainResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Explain"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ExplainRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ExplainResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Explain"))
              .build();
        }
      }
    }
    return getExplainMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ForkRequest,
      antiphon.gen.ForkResponse> getForkMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Fork",
      requestType = antiphon.gen.ForkRequest.class,
      responseType = antiphon.gen.ForkResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ForkRequest,
      antiphon.gen.ForkResponse> getForkMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ForkRequest, antiphon.gen.ForkResponse> getForkMethod;
    if ((getForkMethod = ExchangeServiceGrpc.getForkMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getForkMethod = ExchangeServiceGrpc.getForkMethod) == null) {
          ExchangeServiceGrpc.getForkMethod = getForkMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ForkRequest, antiphon.gen.ForkResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Fork"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ForkRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ForkResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Fork"))
              .build();
        }
      }
    }
    return getForkMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ProbeRequest,
      antiphon.gen.ProbeResponse> getProbeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Probe",
      requestType = antiphon.gen.ProbeRequest.class,
      responseType = antiphon.gen.ProbeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ProbeRequest,
      antiphon.gen.ProbeResponse> getProbeMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ProbeRequest, antiphon.gen.ProbeResponse> getProbeMethod;
    if ((getProbeMethod = ExchangeServiceGrpc.getProbeMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getProbeMethod = ExchangeServiceGrpc.getProbeMethod) == null) {
          ExchangeServiceGrpc.getProbeMethod = getProbeMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ProbeRequest, antiphon.gen.ProbeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Probe"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ProbeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ProbeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Probe"))
              .build();
        }
      }
    }
    return getProbeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.StreamProbeRequest,
      antiphon.gen.StreamProbeResponse> getStreamProbeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamProbe",
      requestType = antiphon.gen.StreamProbeRequest.class,
      responseType = antiphon.gen.StreamProbeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.StreamProbeRequest,
      antiphon.gen.StreamProbeResponse> getStreamProbeMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.StreamProbeRequest, antiphon.gen.StreamProbeResponse> getStreamProbeMethod;
    if ((getStreamProbeMethod = ExchangeServiceGrpc.getStreamProbeMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getStreamProbeMethod = ExchangeServiceGrpc.getStreamProbeMethod) == null) {
          ExchangeServiceGrpc.getStreamProbeMethod = getStreamProbeMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.StreamProbeRequest, antiphon.gen.StreamProbeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamProbe"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamProbeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamProbeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("StreamProbe"))
              .build();
        }
      }
    }
    return getStreamProbeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.CoordinateRequest,
      antiphon.gen.CoordinateResponse> getCoordinateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Coordinate",
      requestType = antiphon.gen.CoordinateRequest.class,
      responseType = antiphon.gen.CoordinateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.CoordinateRequest,
      antiphon.gen.CoordinateResponse> getCoordinateMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.CoordinateRequest, antiphon.gen.CoordinateResponse> getCoordinateMethod;
    if ((getCoordinateMethod = ExchangeServiceGrpc.getCoordinateMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getCoordinateMethod = ExchangeServiceGrpc.getCoordinateMethod) == null) {
          ExchangeServiceGrpc.getCoordinateMethod = getCoordinateMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.CoordinateRequest, antiphon.gen.CoordinateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Coordinate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Coordinate"))
              .build();
        }
      }
    }
    return getCoordinateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.InspectRequest,
      antiphon.gen.InspectResponse> getInspectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Inspect",
      requestType = antiphon.gen.InspectRequest.class,
      responseType = antiphon.gen.InspectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.InspectRequest,
      antiphon.gen.InspectResponse> getInspectMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.InspectRequest, antiphon.gen.InspectResponse> getInspectMethod;
    if ((getInspectMethod = ExchangeServiceGrpc.getInspectMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getInspectMethod = ExchangeServiceGrpc.getInspectMethod) == null) {
          ExchangeServiceGrpc.getInspectMethod = getInspectMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.InspectRequest, antiphon.gen.InspectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Inspect"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("Inspect"))
              .build();
        }
      }
    }
    return getInspectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.StreamInspectRequest,
      antiphon.gen.StreamInspectResponse> getStreamInspectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamInspect",
      requestType = antiphon.gen.StreamInspectRequest.class,
      responseType = antiphon.gen.StreamInspectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.StreamInspectRequest,
      antiphon.gen.StreamInspectResponse> getStreamInspectMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.StreamInspectRequest, antiphon.gen.StreamInspectResponse> getStreamInspectMethod;
    if ((getStreamInspectMethod = ExchangeServiceGrpc.getStreamInspectMethod) == null) {
      synchronized (ExchangeServiceGrpc.class) {
        if ((getStreamInspectMethod = ExchangeServiceGrpc.getStreamInspectMethod) == null) {
          ExchangeServiceGrpc.getStreamInspectMethod = getStreamInspectMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.StreamInspectRequest, antiphon.gen.StreamInspectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamInspect"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamInspectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamInspectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ExchangeServiceMethodDescriptorSupplier("StreamInspect"))
              .build();
        }
      }
    }
    return getStreamInspectMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ExchangeServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceStub>() {
        @java.lang.Override
        public ExchangeServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ExchangeServiceStub(channel, callOptions);
        }
      };
    return ExchangeServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ExchangeServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceBlockingV2Stub>() {
        @java.lang.Override
        public ExchangeServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ExchangeServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ExchangeServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ExchangeServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceBlockingStub>() {
        @java.lang.Override
        public ExchangeServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ExchangeServiceBlockingStub(channel, callOptions);
        }
      };
    return ExchangeServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ExchangeServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ExchangeServiceFutureStub>() {
        @java.lang.Override
        public ExchangeServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ExchangeServiceFutureStub(channel, callOptions);
        }
      };
    return ExchangeServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Runs turns, keeps them as exchanges, and branches from them.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Executes a request. Keeps state and usage, and content only when `capture` says so.
     * </pre>
     */
    default void run(antiphon.gen.RunRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRunMethod(), responseObserver);
    }

    /**
     * <pre>
     * Executes a request and keeps the exchange, at a root or as the first turn of a thread.
     * </pre>
     */
    default void capture(antiphon.gen.CaptureRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CaptureResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCaptureMethod(), responseObserver);
    }

    /**
     * <pre>
     * Capture, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    default void streamCapture(antiphon.gen.StreamCaptureRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamCaptureResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamCaptureMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stores exchanges that the caller executed itself.
     * </pre>
     */
    default void record(antiphon.gen.RecordRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RecordResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRecordMethod(), responseObserver);
    }

    /**
     * <pre>
     * A new turn from an exchange or a thread, or the results of pending tool calls.
     * </pre>
     */
    default void continue_(antiphon.gen.ContinueRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ContinueResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getContinueMethod(), responseObserver);
    }

    /**
     * <pre>
     * Continue, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    default void streamContinue(antiphon.gen.StreamContinueRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamContinueResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamContinueMethod(), responseObserver);
    }

    /**
     * <pre>
     * Resolves and renders a request and keeps the outcome for one execution; calls nobody.
     * </pre>
     */
    default void prepare(antiphon.gen.PrepareRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.PrepareResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPrepareMethod(), responseObserver);
    }

    /**
     * <pre>
     * The exact request that would be sent, or was; calls nobody.
     * </pre>
     */
    default void explain(antiphon.gen.ExplainRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ExplainResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExplainMethod(), responseObserver);
    }

    /**
     * <pre>
     * A durable branch: one new thread for each request, or a bare one.
     * </pre>
     */
    default void fork(antiphon.gen.ForkRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ForkResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getForkMethod(), responseObserver);
    }

    /**
     * <pre>
     * One execution from a snapshot that leaves nothing behind.
     * </pre>
     */
    default void probe(antiphon.gen.ProbeRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ProbeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getProbeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Probe, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    default void streamProbe(antiphon.gen.StreamProbeRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamProbeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamProbeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Runs turns of one branch while the caller decides each next action.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<antiphon.gen.CoordinateRequest> coordinate(
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinateResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getCoordinateMethod(), responseObserver);
    }

    /**
     * <pre>
     * One exchange with everything known of it, and its history in pages.
     * </pre>
     */
    default void inspect(antiphon.gen.InspectRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getInspectMethod(), responseObserver);
    }

    /**
     * <pre>
     * Inspect, with the whole history in one stream.
     * </pre>
     */
    default void streamInspect(antiphon.gen.StreamInspectRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamInspectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamInspectMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ExchangeService.
   * <pre>
   * Runs turns, keeps them as exchanges, and branches from them.
   * </pre>
   */
  public static abstract class ExchangeServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ExchangeServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ExchangeService.
   * <pre>
   * Runs turns, keeps them as exchanges, and branches from them.
   * </pre>
   */
  public static final class ExchangeServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ExchangeServiceStub> {
    private ExchangeServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ExchangeServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ExchangeServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Executes a request. Keeps state and usage, and content only when `capture` says so.
     * </pre>
     */
    public void run(antiphon.gen.RunRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRunMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Executes a request and keeps the exchange, at a root or as the first turn of a thread.
     * </pre>
     */
    public void capture(antiphon.gen.CaptureRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CaptureResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCaptureMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Capture, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    public void streamCapture(antiphon.gen.StreamCaptureRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamCaptureResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamCaptureMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stores exchanges that the caller executed itself.
     * </pre>
     */
    public void record(antiphon.gen.RecordRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RecordResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRecordMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A new turn from an exchange or a thread, or the results of pending tool calls.
     * </pre>
     */
    public void continue_(antiphon.gen.ContinueRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ContinueResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getContinueMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Continue, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    public void streamContinue(antiphon.gen.StreamContinueRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamContinueResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamContinueMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Resolves and renders a request and keeps the outcome for one execution; calls nobody.
     * </pre>
     */
    public void prepare(antiphon.gen.PrepareRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.PrepareResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPrepareMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The exact request that would be sent, or was; calls nobody.
     * </pre>
     */
    public void explain(antiphon.gen.ExplainRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ExplainResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getExplainMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A durable branch: one new thread for each request, or a bare one.
     * </pre>
     */
    public void fork(antiphon.gen.ForkRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ForkResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getForkMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One execution from a snapshot that leaves nothing behind.
     * </pre>
     */
    public void probe(antiphon.gen.ProbeRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ProbeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getProbeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Probe, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    public void streamProbe(antiphon.gen.StreamProbeRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamProbeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamProbeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Runs turns of one branch while the caller decides each next action.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<antiphon.gen.CoordinateRequest> coordinate(
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinateResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getCoordinateMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * One exchange with everything known of it, and its history in pages.
     * </pre>
     */
    public void inspect(antiphon.gen.InspectRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getInspectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Inspect, with the whole history in one stream.
     * </pre>
     */
    public void streamInspect(antiphon.gen.StreamInspectRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamInspectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamInspectMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ExchangeService.
   * <pre>
   * Runs turns, keeps them as exchanges, and branches from them.
   * </pre>
   */
  public static final class ExchangeServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ExchangeServiceBlockingV2Stub> {
    private ExchangeServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ExchangeServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ExchangeServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Executes a request. Keeps state and usage, and content only when `capture` says so.
     * </pre>
     */
    public antiphon.gen.RunResponse run(antiphon.gen.RunRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Executes a request and keeps the exchange, at a root or as the first turn of a thread.
     * </pre>
     */
    public antiphon.gen.CaptureResponse capture(antiphon.gen.CaptureRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCaptureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Capture, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.StreamCaptureResponse>
        streamCapture(antiphon.gen.StreamCaptureRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamCaptureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores exchanges that the caller executed itself.
     * </pre>
     */
    public antiphon.gen.RecordResponse record(antiphon.gen.RecordRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRecordMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A new turn from an exchange or a thread, or the results of pending tool calls.
     * </pre>
     */
    public antiphon.gen.ContinueResponse continue_(antiphon.gen.ContinueRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getContinueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Continue, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.StreamContinueResponse>
        streamContinue(antiphon.gen.StreamContinueRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamContinueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Resolves and renders a request and keeps the outcome for one execution; calls nobody.
     * </pre>
     */
    public antiphon.gen.PrepareResponse prepare(antiphon.gen.PrepareRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPrepareMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The exact request that would be sent, or was; calls nobody.
     * </pre>
     */
    public antiphon.gen.ExplainResponse explain(antiphon.gen.ExplainRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getExplainMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A durable branch: one new thread for each request, or a bare one.
     * </pre>
     */
    public antiphon.gen.ForkResponse fork(antiphon.gen.ForkRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getForkMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One execution from a snapshot that leaves nothing behind.
     * </pre>
     */
    public antiphon.gen.ProbeResponse probe(antiphon.gen.ProbeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getProbeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Probe, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.StreamProbeResponse>
        streamProbe(antiphon.gen.StreamProbeRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamProbeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs turns of one branch while the caller decides each next action.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<antiphon.gen.CoordinateRequest, antiphon.gen.CoordinateResponse>
        coordinate() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getCoordinateMethod(), getCallOptions());
    }

    /**
     * <pre>
     * One exchange with everything known of it, and its history in pages.
     * </pre>
     */
    public antiphon.gen.InspectResponse inspect(antiphon.gen.InspectRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getInspectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Inspect, with the whole history in one stream.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.StreamInspectResponse>
        streamInspect(antiphon.gen.StreamInspectRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamInspectMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ExchangeService.
   * <pre>
   * Runs turns, keeps them as exchanges, and branches from them.
   * </pre>
   */
  public static final class ExchangeServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ExchangeServiceBlockingStub> {
    private ExchangeServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ExchangeServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ExchangeServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Executes a request. Keeps state and usage, and content only when `capture` says so.
     * </pre>
     */
    public antiphon.gen.RunResponse run(antiphon.gen.RunRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Executes a request and keeps the exchange, at a root or as the first turn of a thread.
     * </pre>
     */
    public antiphon.gen.CaptureResponse capture(antiphon.gen.CaptureRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCaptureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Capture, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.StreamCaptureResponse> streamCapture(
        antiphon.gen.StreamCaptureRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamCaptureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores exchanges that the caller executed itself.
     * </pre>
     */
    public antiphon.gen.RecordResponse record(antiphon.gen.RecordRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRecordMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A new turn from an exchange or a thread, or the results of pending tool calls.
     * </pre>
     */
    public antiphon.gen.ContinueResponse continue_(antiphon.gen.ContinueRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getContinueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Continue, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.StreamContinueResponse> streamContinue(
        antiphon.gen.StreamContinueRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamContinueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Resolves and renders a request and keeps the outcome for one execution; calls nobody.
     * </pre>
     */
    public antiphon.gen.PrepareResponse prepare(antiphon.gen.PrepareRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPrepareMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The exact request that would be sent, or was; calls nobody.
     * </pre>
     */
    public antiphon.gen.ExplainResponse explain(antiphon.gen.ExplainRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getExplainMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A durable branch: one new thread for each request, or a bare one.
     * </pre>
     */
    public antiphon.gen.ForkResponse fork(antiphon.gen.ForkRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getForkMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One execution from a snapshot that leaves nothing behind.
     * </pre>
     */
    public antiphon.gen.ProbeResponse probe(antiphon.gen.ProbeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getProbeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Probe, with the answer as it comes. The last event is `completed`.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.StreamProbeResponse> streamProbe(
        antiphon.gen.StreamProbeRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamProbeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One exchange with everything known of it, and its history in pages.
     * </pre>
     */
    public antiphon.gen.InspectResponse inspect(antiphon.gen.InspectRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getInspectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Inspect, with the whole history in one stream.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.StreamInspectResponse> streamInspect(
        antiphon.gen.StreamInspectRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamInspectMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ExchangeService.
   * <pre>
   * Runs turns, keeps them as exchanges, and branches from them.
   * </pre>
   */
  public static final class ExchangeServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ExchangeServiceFutureStub> {
    private ExchangeServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ExchangeServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ExchangeServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Executes a request. Keeps state and usage, and content only when `capture` says so.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.RunResponse> run(
        antiphon.gen.RunRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRunMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Executes a request and keeps the exchange, at a root or as the first turn of a thread.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.CaptureResponse> capture(
        antiphon.gen.CaptureRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCaptureMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stores exchanges that the caller executed itself.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.RecordResponse> record(
        antiphon.gen.RecordRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRecordMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * A new turn from an exchange or a thread, or the results of pending tool calls.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ContinueResponse> continue_(
        antiphon.gen.ContinueRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getContinueMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Resolves and renders a request and keeps the outcome for one execution; calls nobody.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.PrepareResponse> prepare(
        antiphon.gen.PrepareRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPrepareMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The exact request that would be sent, or was; calls nobody.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ExplainResponse> explain(
        antiphon.gen.ExplainRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getExplainMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * A durable branch: one new thread for each request, or a bare one.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ForkResponse> fork(
        antiphon.gen.ForkRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getForkMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One execution from a snapshot that leaves nothing behind.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ProbeResponse> probe(
        antiphon.gen.ProbeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getProbeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One exchange with everything known of it, and its history in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.InspectResponse> inspect(
        antiphon.gen.InspectRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getInspectMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_RUN = 0;
  private static final int METHODID_CAPTURE = 1;
  private static final int METHODID_STREAM_CAPTURE = 2;
  private static final int METHODID_RECORD = 3;
  private static final int METHODID_CONTINUE = 4;
  private static final int METHODID_STREAM_CONTINUE = 5;
  private static final int METHODID_PREPARE = 6;
  private static final int METHODID_EXPLAIN = 7;
  private static final int METHODID_FORK = 8;
  private static final int METHODID_PROBE = 9;
  private static final int METHODID_STREAM_PROBE = 10;
  private static final int METHODID_INSPECT = 11;
  private static final int METHODID_STREAM_INSPECT = 12;
  private static final int METHODID_COORDINATE = 13;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_RUN:
          serviceImpl.run((antiphon.gen.RunRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.RunResponse>) responseObserver);
          break;
        case METHODID_CAPTURE:
          serviceImpl.capture((antiphon.gen.CaptureRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.CaptureResponse>) responseObserver);
          break;
        case METHODID_STREAM_CAPTURE:
          serviceImpl.streamCapture((antiphon.gen.StreamCaptureRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.StreamCaptureResponse>) responseObserver);
          break;
        case METHODID_RECORD:
          serviceImpl.record((antiphon.gen.RecordRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.RecordResponse>) responseObserver);
          break;
        case METHODID_CONTINUE:
          serviceImpl.continue_((antiphon.gen.ContinueRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ContinueResponse>) responseObserver);
          break;
        case METHODID_STREAM_CONTINUE:
          serviceImpl.streamContinue((antiphon.gen.StreamContinueRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.StreamContinueResponse>) responseObserver);
          break;
        case METHODID_PREPARE:
          serviceImpl.prepare((antiphon.gen.PrepareRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.PrepareResponse>) responseObserver);
          break;
        case METHODID_EXPLAIN:
          serviceImpl.explain((antiphon.gen.ExplainRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ExplainResponse>) responseObserver);
          break;
        case METHODID_FORK:
          serviceImpl.fork((antiphon.gen.ForkRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ForkResponse>) responseObserver);
          break;
        case METHODID_PROBE:
          serviceImpl.probe((antiphon.gen.ProbeRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ProbeResponse>) responseObserver);
          break;
        case METHODID_STREAM_PROBE:
          serviceImpl.streamProbe((antiphon.gen.StreamProbeRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.StreamProbeResponse>) responseObserver);
          break;
        case METHODID_INSPECT:
          serviceImpl.inspect((antiphon.gen.InspectRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.InspectResponse>) responseObserver);
          break;
        case METHODID_STREAM_INSPECT:
          serviceImpl.streamInspect((antiphon.gen.StreamInspectRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.StreamInspectResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_COORDINATE:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.coordinate(
              (io.grpc.stub.StreamObserver<antiphon.gen.CoordinateResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getRunMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.RunRequest,
              antiphon.gen.RunResponse>(
                service, METHODID_RUN)))
        .addMethod(
          getCaptureMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.CaptureRequest,
              antiphon.gen.CaptureResponse>(
                service, METHODID_CAPTURE)))
        .addMethod(
          getStreamCaptureMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.StreamCaptureRequest,
              antiphon.gen.StreamCaptureResponse>(
                service, METHODID_STREAM_CAPTURE)))
        .addMethod(
          getRecordMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.RecordRequest,
              antiphon.gen.RecordResponse>(
                service, METHODID_RECORD)))
        .addMethod(
          getContinueMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ContinueRequest,
              antiphon.gen.ContinueResponse>(
                service, METHODID_CONTINUE)))
        .addMethod(
          getStreamContinueMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.StreamContinueRequest,
              antiphon.gen.StreamContinueResponse>(
                service, METHODID_STREAM_CONTINUE)))
        .addMethod(
          getPrepareMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.PrepareRequest,
              antiphon.gen.PrepareResponse>(
                service, METHODID_PREPARE)))
        .addMethod(
          getExplainMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ExplainRequest,
              antiphon.gen.ExplainResponse>(
                service, METHODID_EXPLAIN)))
        .addMethod(
          getForkMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ForkRequest,
              antiphon.gen.ForkResponse>(
                service, METHODID_FORK)))
        .addMethod(
          getProbeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ProbeRequest,
              antiphon.gen.ProbeResponse>(
                service, METHODID_PROBE)))
        .addMethod(
          getStreamProbeMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.StreamProbeRequest,
              antiphon.gen.StreamProbeResponse>(
                service, METHODID_STREAM_PROBE)))
        .addMethod(
          getCoordinateMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              antiphon.gen.CoordinateRequest,
              antiphon.gen.CoordinateResponse>(
                service, METHODID_COORDINATE)))
        .addMethod(
          getInspectMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.InspectRequest,
              antiphon.gen.InspectResponse>(
                service, METHODID_INSPECT)))
        .addMethod(
          getStreamInspectMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.StreamInspectRequest,
              antiphon.gen.StreamInspectResponse>(
                service, METHODID_STREAM_INSPECT)))
        .build();
  }

  private static abstract class ExchangeServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ExchangeServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.ExchangeServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ExchangeService");
    }
  }

  private static final class ExchangeServiceFileDescriptorSupplier
      extends ExchangeServiceBaseDescriptorSupplier {
    ExchangeServiceFileDescriptorSupplier() {}
  }

  private static final class ExchangeServiceMethodDescriptorSupplier
      extends ExchangeServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ExchangeServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (ExchangeServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ExchangeServiceFileDescriptorSupplier())
              .addMethod(getRunMethod())
              .addMethod(getCaptureMethod())
              .addMethod(getStreamCaptureMethod())
              .addMethod(getRecordMethod())
              .addMethod(getContinueMethod())
              .addMethod(getStreamContinueMethod())
              .addMethod(getPrepareMethod())
              .addMethod(getExplainMethod())
              .addMethod(getForkMethod())
              .addMethod(getProbeMethod())
              .addMethod(getStreamProbeMethod())
              .addMethod(getCoordinateMethod())
              .addMethod(getInspectMethod())
              .addMethod(getStreamInspectMethod())
              .build();
        }
      }
    }
    return result;
  }
}
