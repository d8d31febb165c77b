package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Tells which tools were there.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ToolServiceGrpc {

  private ToolServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.ToolService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.GetCallToolsRequest,
      antiphon.gen.GetCallToolsResponse> getGetCallToolsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetCallTools",
      requestType = antiphon.gen.GetCallToolsRequest.class,
      responseType = antiphon.gen.GetCallToolsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.GetCallToolsRequest,
      antiphon.gen.GetCallToolsResponse> getGetCallToolsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.GetCallToolsRequest, antiphon.gen.GetCallToolsResponse> getGetCallToolsMethod;
    if ((getGetCallToolsMethod = ToolServiceGrpc.getGetCallToolsMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getGetCallToolsMethod = ToolServiceGrpc.getGetCallToolsMethod) == null) {
          ToolServiceGrpc.getGetCallToolsMethod = getGetCallToolsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.GetCallToolsRequest, antiphon.gen.GetCallToolsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetCallTools"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetCallToolsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetCallToolsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("GetCallTools"))
              .build();
        }
      }
    }
    return getGetCallToolsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.GetToolSetRequest,
      antiphon.gen.GetToolSetResponse> getGetToolSetMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetToolSet",
      requestType = antiphon.gen.GetToolSetRequest.class,
      responseType = antiphon.gen.GetToolSetResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.GetToolSetRequest,
      antiphon.gen.GetToolSetResponse> getGetToolSetMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.GetToolSetRequest, antiphon.gen.GetToolSetResponse> getGetToolSetMethod;
    if ((getGetToolSetMethod = ToolServiceGrpc.getGetToolSetMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getGetToolSetMethod = ToolServiceGrpc.getGetToolSetMethod) == null) {
          ToolServiceGrpc.getGetToolSetMethod = getGetToolSetMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.GetToolSetRequest, antiphon.gen.GetToolSetResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetToolSet"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetToolSetRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetToolSetResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("GetToolSet"))
              .build();
        }
      }
    }
    return getGetToolSetMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListToolOccurrencesRequest,
      antiphon.gen.ListToolOccurrencesResponse> getListToolOccurrencesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListToolOccurrences",
      requestType = antiphon.gen.ListToolOccurrencesRequest.class,
      responseType = antiphon.gen.ListToolOccurrencesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListToolOccurrencesRequest,
      antiphon.gen.ListToolOccurrencesResponse> getListToolOccurrencesMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListToolOccurrencesRequest, antiphon.gen.ListToolOccurrencesResponse> getListToolOccurrencesMethod;
    if ((getListToolOccurrencesMethod = ToolServiceGrpc.getListToolOccurrencesMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getListToolOccurrencesMethod = ToolServiceGrpc.getListToolOccurrencesMethod) == null) {
          ToolServiceGrpc.getListToolOccurrencesMethod = getListToolOccurrencesMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListToolOccurrencesRequest, antiphon.gen.ListToolOccurrencesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListToolOccurrences"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListToolOccurrencesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListToolOccurrencesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("ListToolOccurrences"))
              .build();
        }
      }
    }
    return getListToolOccurrencesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListToolDriftsRequest,
      antiphon.gen.ListToolDriftsResponse> getListToolDriftsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListToolDrifts",
      requestType = antiphon.gen.ListToolDriftsRequest.class,
      responseType = antiphon.gen.ListToolDriftsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListToolDriftsRequest,
      antiphon.gen.ListToolDriftsResponse> getListToolDriftsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListToolDriftsRequest, antiphon.gen.ListToolDriftsResponse> getListToolDriftsMethod;
    if ((getListToolDriftsMethod = ToolServiceGrpc.getListToolDriftsMethod) == null) {
      synchronized (ToolServiceGrpc.class) {
        if ((getListToolDriftsMethod = ToolServiceGrpc.getListToolDriftsMethod) == null) {
          ToolServiceGrpc.getListToolDriftsMethod = getListToolDriftsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListToolDriftsRequest, antiphon.gen.ListToolDriftsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListToolDrifts"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListToolDriftsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListToolDriftsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ToolServiceMethodDescriptorSupplier("ListToolDrifts"))
              .build();
        }
      }
    }
    return getListToolDriftsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ToolServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceStub>() {
        @java.lang.Override
        public ToolServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceStub(channel, callOptions);
        }
      };
    return ToolServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ToolServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingV2Stub>() {
        @java.lang.Override
        public ToolServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ToolServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ToolServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceBlockingStub>() {
        @java.lang.Override
        public ToolServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceBlockingStub(channel, callOptions);
        }
      };
    return ToolServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ToolServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ToolServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ToolServiceFutureStub>() {
        @java.lang.Override
        public ToolServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ToolServiceFutureStub(channel, callOptions);
        }
      };
    return ToolServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Tells which tools were there.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * The tools of one call: offered, standing and called.
     * </pre>
     */
    default void getCallTools(antiphon.gen.GetCallToolsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetCallToolsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetCallToolsMethod(), responseObserver);
    }

    /**
     * <pre>
     * A set of tools by its content.
     * </pre>
     */
    default void getToolSet(antiphon.gen.GetToolSetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetToolSetResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetToolSetMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the calls that had a tool, newest first; within a path, the nearest to its end first.
     * </pre>
     */
    default void listToolOccurrences(antiphon.gen.ListToolOccurrencesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListToolOccurrencesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListToolOccurrencesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists where a tool's input schema is another one than before on the same path.
     * </pre>
     */
    default void listToolDrifts(antiphon.gen.ListToolDriftsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListToolDriftsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListToolDriftsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ToolService.
   * <pre>
   * Tells which tools were there.
   * </pre>
   */
  public static abstract class ToolServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ToolServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ToolService.
   * <pre>
   * Tells which tools were there.
   * </pre>
   */
  public static final class ToolServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ToolServiceStub> {
    private ToolServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * The tools of one call: offered, standing and called.
     * </pre>
     */
    public void getCallTools(antiphon.gen.GetCallToolsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetCallToolsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetCallToolsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A set of tools by its content.
     * </pre>
     */
    public void getToolSet(antiphon.gen.GetToolSetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetToolSetResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetToolSetMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the calls that had a tool, newest first; within a path, the nearest to its end first.
     * </pre>
     */
    public void listToolOccurrences(antiphon.gen.ListToolOccurrencesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListToolOccurrencesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListToolOccurrencesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists where a tool's input schema is another one than before on the same path.
     * </pre>
     */
    public void listToolDrifts(antiphon.gen.ListToolDriftsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListToolDriftsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListToolDriftsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ToolService.
   * <pre>
   * Tells which tools were there.
   * </pre>
   */
  public static final class ToolServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ToolServiceBlockingV2Stub> {
    private ToolServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * The tools of one call: offered, standing and called.
     * </pre>
     */
    public antiphon.gen.GetCallToolsResponse getCallTools(antiphon.gen.GetCallToolsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetCallToolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A set of tools by its content.
     * </pre>
     */
    public antiphon.gen.GetToolSetResponse getToolSet(antiphon.gen.GetToolSetRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetToolSetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the calls that had a tool, newest first; within a path, the nearest to its end first.
     * </pre>
     */
    public antiphon.gen.ListToolOccurrencesResponse listToolOccurrences(antiphon.gen.ListToolOccurrencesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListToolOccurrencesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists where a tool's input schema is another one than before on the same path.
     * </pre>
     */
    public antiphon.gen.ListToolDriftsResponse listToolDrifts(antiphon.gen.ListToolDriftsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListToolDriftsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ToolService.
   * <pre>
   * Tells which tools were there.
   * </pre>
   */
  public static final class ToolServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ToolServiceBlockingStub> {
    private ToolServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * The tools of one call: offered, standing and called.
     * </pre>
     */
    public antiphon.gen.GetCallToolsResponse getCallTools(antiphon.gen.GetCallToolsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetCallToolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A set of tools by its content.
     * </pre>
     */
    public antiphon.gen.GetToolSetResponse getToolSet(antiphon.gen.GetToolSetRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetToolSetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the calls that had a tool, newest first; within a path, the nearest to its end first.
     * </pre>
     */
    public antiphon.gen.ListToolOccurrencesResponse listToolOccurrences(antiphon.gen.ListToolOccurrencesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListToolOccurrencesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists where a tool's input schema is another one than before on the same path.
     * </pre>
     */
    public antiphon.gen.ListToolDriftsResponse listToolDrifts(antiphon.gen.ListToolDriftsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListToolDriftsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ToolService.
   * <pre>
   * Tells which tools were there.
   * </pre>
   */
  public static final class ToolServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ToolServiceFutureStub> {
    private ToolServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ToolServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ToolServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * The tools of one call: offered, standing and called.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.GetCallToolsResponse> getCallTools(
        antiphon.gen.GetCallToolsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetCallToolsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * A set of tools by its content.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.GetToolSetResponse> getToolSet(
        antiphon.gen.GetToolSetRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetToolSetMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the calls that had a tool, newest first; within a path, the nearest to its end first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListToolOccurrencesResponse> listToolOccurrences(
        antiphon.gen.ListToolOccurrencesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListToolOccurrencesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists where a tool's input schema is another one than before on the same path.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListToolDriftsResponse> listToolDrifts(
        antiphon.gen.ListToolDriftsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListToolDriftsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_CALL_TOOLS = 0;
  private static final int METHODID_GET_TOOL_SET = 1;
  private static final int METHODID_LIST_TOOL_OCCURRENCES = 2;
  private static final int METHODID_LIST_TOOL_DRIFTS = 3;

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
        case METHODID_GET_CALL_TOOLS:
          serviceImpl.getCallTools((antiphon.gen.GetCallToolsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.GetCallToolsResponse>) responseObserver);
          break;
        case METHODID_GET_TOOL_SET:
          serviceImpl.getToolSet((antiphon.gen.GetToolSetRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.GetToolSetResponse>) responseObserver);
          break;
        case METHODID_LIST_TOOL_OCCURRENCES:
          serviceImpl.listToolOccurrences((antiphon.gen.ListToolOccurrencesRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListToolOccurrencesResponse>) responseObserver);
          break;
        case METHODID_LIST_TOOL_DRIFTS:
          serviceImpl.listToolDrifts((antiphon.gen.ListToolDriftsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListToolDriftsResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGetCallToolsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.GetCallToolsRequest,
              antiphon.gen.GetCallToolsResponse>(
                service, METHODID_GET_CALL_TOOLS)))
        .addMethod(
          getGetToolSetMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.GetToolSetRequest,
              antiphon.gen.GetToolSetResponse>(
                service, METHODID_GET_TOOL_SET)))
        .addMethod(
          getListToolOccurrencesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListToolOccurrencesRequest,
              antiphon.gen.ListToolOccurrencesResponse>(
                service, METHODID_LIST_TOOL_OCCURRENCES)))
        .addMethod(
          getListToolDriftsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListToolDriftsRequest,
              antiphon.gen.ListToolDriftsResponse>(
                service, METHODID_LIST_TOOL_DRIFTS)))
        .build();
  }

  private static abstract class ToolServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ToolServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.ToolServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ToolService");
    }
  }

  private static final class ToolServiceFileDescriptorSupplier
      extends ToolServiceBaseDescriptorSupplier {
    ToolServiceFileDescriptorSupplier() {}
  }

  private static final class ToolServiceMethodDescriptorSupplier
      extends ToolServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ToolServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ToolServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ToolServiceFileDescriptorSupplier())
              .addMethod(getGetCallToolsMethod())
              .addMethod(getGetToolSetMethod())
              .addMethod(getListToolOccurrencesMethod())
              .addMethod(getListToolDriftsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
