package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Tells where runs are.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class RunServiceGrpc {

  private RunServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.RunService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.RunServiceGetRequest,
      antiphon.gen.RunServiceGetResponse> getGetMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Get",
      requestType = antiphon.gen.RunServiceGetRequest.class,
      responseType = antiphon.gen.RunServiceGetResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.RunServiceGetRequest,
      antiphon.gen.RunServiceGetResponse> getGetMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.RunServiceGetRequest, antiphon.gen.RunServiceGetResponse> getGetMethod;
    if ((getGetMethod = RunServiceGrpc.getGetMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getGetMethod = RunServiceGrpc.getGetMethod) == null) {
          RunServiceGrpc.getGetMethod = getGetMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.RunServiceGetRequest, antiphon.gen.RunServiceGetResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Get"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunServiceGetRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunServiceGetResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("Get"))
              .build();
        }
      }
    }
    return getGetMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.RunServiceListRequest,
      antiphon.gen.RunServiceListResponse> getListMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "List",
      requestType = antiphon.gen.RunServiceListRequest.class,
      responseType = antiphon.gen.RunServiceListResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.RunServiceListRequest,
      antiphon.gen.RunServiceListResponse> getListMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.RunServiceListRequest, antiphon.gen.RunServiceListResponse> getListMethod;
    if ((getListMethod = RunServiceGrpc.getListMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getListMethod = RunServiceGrpc.getListMethod) == null) {
          RunServiceGrpc.getListMethod = getListMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.RunServiceListRequest, antiphon.gen.RunServiceListResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "List"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunServiceListRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunServiceListResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("List"))
              .build();
        }
      }
    }
    return getListMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.RunServiceCancelRequest,
      antiphon.gen.RunServiceCancelResponse> getCancelMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Cancel",
      requestType = antiphon.gen.RunServiceCancelRequest.class,
      responseType = antiphon.gen.RunServiceCancelResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.RunServiceCancelRequest,
      antiphon.gen.RunServiceCancelResponse> getCancelMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.RunServiceCancelRequest, antiphon.gen.RunServiceCancelResponse> getCancelMethod;
    if ((getCancelMethod = RunServiceGrpc.getCancelMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getCancelMethod = RunServiceGrpc.getCancelMethod) == null) {
          RunServiceGrpc.getCancelMethod = getCancelMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.RunServiceCancelRequest, antiphon.gen.RunServiceCancelResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Cancel"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunServiceCancelRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RunServiceCancelResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("Cancel"))
              .build();
        }
      }
    }
    return getCancelMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.WatchRequest,
      antiphon.gen.WatchResponse> getWatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Watch",
      requestType = antiphon.gen.WatchRequest.class,
      responseType = antiphon.gen.WatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.WatchRequest,
      antiphon.gen.WatchResponse> getWatchMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.WatchRequest, antiphon.gen.WatchResponse> getWatchMethod;
    if ((getWatchMethod = RunServiceGrpc.getWatchMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getWatchMethod = RunServiceGrpc.getWatchMethod) == null) {
          RunServiceGrpc.getWatchMethod = getWatchMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.WatchRequest, antiphon.gen.WatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Watch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.WatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.WatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("Watch"))
              .build();
        }
      }
    }
    return getWatchMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static RunServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceStub>() {
        @java.lang.Override
        public RunServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceStub(channel, callOptions);
        }
      };
    return RunServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static RunServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingV2Stub>() {
        @java.lang.Override
        public RunServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return RunServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static RunServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingStub>() {
        @java.lang.Override
        public RunServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceBlockingStub(channel, callOptions);
        }
      };
    return RunServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static RunServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceFutureStub>() {
        @java.lang.Override
        public RunServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceFutureStub(channel, callOptions);
        }
      };
    return RunServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Tells where runs are.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    default void get(antiphon.gen.RunServiceGetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunServiceGetResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists them by id. Those that are QUEUED are in memory only and not among them.
     * </pre>
     */
    default void list(antiphon.gen.RunServiceListRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunServiceListResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMethod(), responseObserver);
    }

    /**
     * <pre>
     * Cancels one that is at work or waits for results. Ending runs that have ended changes nothing.
     * </pre>
     */
    default void cancel(antiphon.gen.RunServiceCancelRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunServiceCancelResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCancelMethod(), responseObserver);
    }

    /**
     * <pre>
     * Follows one until it is over: its states, each with a number, and what happens on the way. A watcher that comes back names the last number
     * that it has, also after a restart of the server. It only looks: a run is neither kept at work by it nor cancelled when it leaves. A run that
     * is PENDING_TOOLS is not over: the stream is silent until it goes on. One that was QUEUED and refused before its claim leaves nothing, and
     * the stream ends with its error. A server that shuts down ends the stream of a run that waits with SHUTTING_DOWN.
     * </pre>
     */
    default void watch(antiphon.gen.WatchRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.WatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service RunService.
   * <pre>
   * Tells where runs are.
   * </pre>
   */
  public static abstract class RunServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return RunServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service RunService.
   * <pre>
   * Tells where runs are.
   * </pre>
   */
  public static final class RunServiceStub
      extends io.grpc.stub.AbstractAsyncStub<RunServiceStub> {
    private RunServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public void get(antiphon.gen.RunServiceGetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunServiceGetResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists them by id. Those that are QUEUED are in memory only and not among them.
     * </pre>
     */
    public void list(antiphon.gen.RunServiceListRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunServiceListResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Cancels one that is at work or waits for results. Ending runs that have ended changes nothing.
     * </pre>
     */
    public void cancel(antiphon.gen.RunServiceCancelRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RunServiceCancelResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCancelMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Follows one until it is over: its states, each with a number, and what happens on the way. A watcher that comes back names the last number
     * that it has, also after a restart of the server. It only looks: a run is neither kept at work by it nor cancelled when it leaves. A run that
     * is PENDING_TOOLS is not over: the stream is silent until it goes on. One that was QUEUED and refused before its claim leaves nothing, and
     * the stream ends with its error. A server that shuts down ends the stream of a run that waits with SHUTTING_DOWN.
     * </pre>
     */
    public void watch(antiphon.gen.WatchRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.WatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service RunService.
   * <pre>
   * Tells where runs are.
   * </pre>
   */
  public static final class RunServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<RunServiceBlockingV2Stub> {
    private RunServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public antiphon.gen.RunServiceGetResponse get(antiphon.gen.RunServiceGetRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists them by id. Those that are QUEUED are in memory only and not among them.
     * </pre>
     */
    public antiphon.gen.RunServiceListResponse list(antiphon.gen.RunServiceListRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Cancels one that is at work or waits for results. Ending runs that have ended changes nothing.
     * </pre>
     */
    public antiphon.gen.RunServiceCancelResponse cancel(antiphon.gen.RunServiceCancelRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCancelMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Follows one until it is over: its states, each with a number, and what happens on the way. A watcher that comes back names the last number
     * that it has, also after a restart of the server. It only looks: a run is neither kept at work by it nor cancelled when it leaves. A run that
     * is PENDING_TOOLS is not over: the stream is silent until it goes on. One that was QUEUED and refused before its claim leaves nothing, and
     * the stream ends with its error. A server that shuts down ends the stream of a run that waits with SHUTTING_DOWN.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.WatchResponse>
        watch(antiphon.gen.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service RunService.
   * <pre>
   * Tells where runs are.
   * </pre>
   */
  public static final class RunServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<RunServiceBlockingStub> {
    private RunServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public antiphon.gen.RunServiceGetResponse get(antiphon.gen.RunServiceGetRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists them by id. Those that are QUEUED are in memory only and not among them.
     * </pre>
     */
    public antiphon.gen.RunServiceListResponse list(antiphon.gen.RunServiceListRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Cancels one that is at work or waits for results. Ending runs that have ended changes nothing.
     * </pre>
     */
    public antiphon.gen.RunServiceCancelResponse cancel(antiphon.gen.RunServiceCancelRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCancelMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Follows one until it is over: its states, each with a number, and what happens on the way. A watcher that comes back names the last number
     * that it has, also after a restart of the server. It only looks: a run is neither kept at work by it nor cancelled when it leaves. A run that
     * is PENDING_TOOLS is not over: the stream is silent until it goes on. One that was QUEUED and refused before its claim leaves nothing, and
     * the stream ends with its error. A server that shuts down ends the stream of a run that waits with SHUTTING_DOWN.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.WatchResponse> watch(
        antiphon.gen.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service RunService.
   * <pre>
   * Tells where runs are.
   * </pre>
   */
  public static final class RunServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<RunServiceFutureStub> {
    private RunServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.RunServiceGetResponse> get(
        antiphon.gen.RunServiceGetRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists them by id. Those that are QUEUED are in memory only and not among them.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.RunServiceListResponse> list(
        antiphon.gen.RunServiceListRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Cancels one that is at work or waits for results. Ending runs that have ended changes nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.RunServiceCancelResponse> cancel(
        antiphon.gen.RunServiceCancelRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCancelMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET = 0;
  private static final int METHODID_LIST = 1;
  private static final int METHODID_CANCEL = 2;
  private static final int METHODID_WATCH = 3;

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
        case METHODID_GET:
          serviceImpl.get((antiphon.gen.RunServiceGetRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.RunServiceGetResponse>) responseObserver);
          break;
        case METHODID_LIST:
          serviceImpl.list((antiphon.gen.RunServiceListRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.RunServiceListResponse>) responseObserver);
          break;
        case METHODID_CANCEL:
          serviceImpl.cancel((antiphon.gen.RunServiceCancelRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.RunServiceCancelResponse>) responseObserver);
          break;
        case METHODID_WATCH:
          serviceImpl.watch((antiphon.gen.WatchRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.WatchResponse>) responseObserver);
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
          getGetMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.RunServiceGetRequest,
              antiphon.gen.RunServiceGetResponse>(
                service, METHODID_GET)))
        .addMethod(
          getListMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.RunServiceListRequest,
              antiphon.gen.RunServiceListResponse>(
                service, METHODID_LIST)))
        .addMethod(
          getCancelMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.RunServiceCancelRequest,
              antiphon.gen.RunServiceCancelResponse>(
                service, METHODID_CANCEL)))
        .addMethod(
          getWatchMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.WatchRequest,
              antiphon.gen.WatchResponse>(
                service, METHODID_WATCH)))
        .build();
  }

  private static abstract class RunServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    RunServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.RunServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("RunService");
    }
  }

  private static final class RunServiceFileDescriptorSupplier
      extends RunServiceBaseDescriptorSupplier {
    RunServiceFileDescriptorSupplier() {}
  }

  private static final class RunServiceMethodDescriptorSupplier
      extends RunServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    RunServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (RunServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new RunServiceFileDescriptorSupplier())
              .addMethod(getGetMethod())
              .addMethod(getListMethod())
              .addMethod(getCancelMethod())
              .addMethod(getWatchMethod())
              .build();
        }
      }
    }
    return result;
  }
}
