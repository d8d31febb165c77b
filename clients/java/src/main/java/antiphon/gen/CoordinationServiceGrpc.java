package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Tells where coordinations are and takes answers from anywhere.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class CoordinationServiceGrpc {

  private CoordinationServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.CoordinationService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceGetRequest,
      antiphon.gen.CoordinationServiceGetResponse> getGetMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Get",
      requestType = antiphon.gen.CoordinationServiceGetRequest.class,
      responseType = antiphon.gen.CoordinationServiceGetResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceGetRequest,
      antiphon.gen.CoordinationServiceGetResponse> getGetMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceGetRequest, antiphon.gen.CoordinationServiceGetResponse> getGetMethod;
    if ((getGetMethod = CoordinationServiceGrpc.getGetMethod) == null) {
      synchronized (CoordinationServiceGrpc.class) {
        if ((getGetMethod = CoordinationServiceGrpc.getGetMethod) == null) {
          CoordinationServiceGrpc.getGetMethod = getGetMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.CoordinationServiceGetRequest, antiphon.gen.CoordinationServiceGetResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Get"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinationServiceGetRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinationServiceGetResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CoordinationServiceMethodDescriptorSupplier("Get"))
              .build();
        }
      }
    }
    return getGetMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceListRequest,
      antiphon.gen.CoordinationServiceListResponse> getListMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "List",
      requestType = antiphon.gen.CoordinationServiceListRequest.class,
      responseType = antiphon.gen.CoordinationServiceListResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceListRequest,
      antiphon.gen.CoordinationServiceListResponse> getListMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceListRequest, antiphon.gen.CoordinationServiceListResponse> getListMethod;
    if ((getListMethod = CoordinationServiceGrpc.getListMethod) == null) {
      synchronized (CoordinationServiceGrpc.class) {
        if ((getListMethod = CoordinationServiceGrpc.getListMethod) == null) {
          CoordinationServiceGrpc.getListMethod = getListMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.CoordinationServiceListRequest, antiphon.gen.CoordinationServiceListResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "List"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinationServiceListRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinationServiceListResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CoordinationServiceMethodDescriptorSupplier("List"))
              .build();
        }
      }
    }
    return getListMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceCancelRequest,
      antiphon.gen.CoordinationServiceCancelResponse> getCancelMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Cancel",
      requestType = antiphon.gen.CoordinationServiceCancelRequest.class,
      responseType = antiphon.gen.CoordinationServiceCancelResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceCancelRequest,
      antiphon.gen.CoordinationServiceCancelResponse> getCancelMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.CoordinationServiceCancelRequest, antiphon.gen.CoordinationServiceCancelResponse> getCancelMethod;
    if ((getCancelMethod = CoordinationServiceGrpc.getCancelMethod) == null) {
      synchronized (CoordinationServiceGrpc.class) {
        if ((getCancelMethod = CoordinationServiceGrpc.getCancelMethod) == null) {
          CoordinationServiceGrpc.getCancelMethod = getCancelMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.CoordinationServiceCancelRequest, antiphon.gen.CoordinationServiceCancelResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Cancel"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinationServiceCancelRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CoordinationServiceCancelResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CoordinationServiceMethodDescriptorSupplier("Cancel"))
              .build();
        }
      }
    }
    return getCancelMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.AnswerRequest,
      antiphon.gen.AnswerResponse> getAnswerMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Answer",
      requestType = antiphon.gen.AnswerRequest.class,
      responseType = antiphon.gen.AnswerResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.AnswerRequest,
      antiphon.gen.AnswerResponse> getAnswerMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.AnswerRequest, antiphon.gen.AnswerResponse> getAnswerMethod;
    if ((getAnswerMethod = CoordinationServiceGrpc.getAnswerMethod) == null) {
      synchronized (CoordinationServiceGrpc.class) {
        if ((getAnswerMethod = CoordinationServiceGrpc.getAnswerMethod) == null) {
          CoordinationServiceGrpc.getAnswerMethod = getAnswerMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.AnswerRequest, antiphon.gen.AnswerResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Answer"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.AnswerRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.AnswerResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CoordinationServiceMethodDescriptorSupplier("Answer"))
              .build();
        }
      }
    }
    return getAnswerMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CoordinationServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceStub>() {
        @java.lang.Override
        public CoordinationServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CoordinationServiceStub(channel, callOptions);
        }
      };
    return CoordinationServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static CoordinationServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceBlockingV2Stub>() {
        @java.lang.Override
        public CoordinationServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CoordinationServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return CoordinationServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CoordinationServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceBlockingStub>() {
        @java.lang.Override
        public CoordinationServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CoordinationServiceBlockingStub(channel, callOptions);
        }
      };
    return CoordinationServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CoordinationServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CoordinationServiceFutureStub>() {
        @java.lang.Override
        public CoordinationServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CoordinationServiceFutureStub(channel, callOptions);
        }
      };
    return CoordinationServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Tells where coordinations are and takes answers from anywhere.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Reads one, with what it waits for.
     * </pre>
     */
    default void get(antiphon.gen.CoordinationServiceGetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceGetResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists them by id, filtered by what they wait for, since when, and by labels.
     * </pre>
     */
    default void list(antiphon.gen.CoordinationServiceListRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceListResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends one. Ending one that has ended changes nothing.
     * </pre>
     */
    default void cancel(antiphon.gen.CoordinationServiceCancelRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceCancelResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCancelMethod(), responseObserver);
    }

    /**
     * <pre>
     * Gives the pending answer. The same answer again is accepted and changes nothing; another one is refused.
     * </pre>
     */
    default void answer(antiphon.gen.AnswerRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.AnswerResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAnswerMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CoordinationService.
   * <pre>
   * Tells where coordinations are and takes answers from anywhere.
   * </pre>
   */
  public static abstract class CoordinationServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CoordinationServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CoordinationService.
   * <pre>
   * Tells where coordinations are and takes answers from anywhere.
   * </pre>
   */
  public static final class CoordinationServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CoordinationServiceStub> {
    private CoordinationServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CoordinationServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CoordinationServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one, with what it waits for.
     * </pre>
     */
    public void get(antiphon.gen.CoordinationServiceGetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceGetResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists them by id, filtered by what they wait for, since when, and by labels.
     * </pre>
     */
    public void list(antiphon.gen.CoordinationServiceListRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceListResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends one. Ending one that has ended changes nothing.
     * </pre>
     */
    public void cancel(antiphon.gen.CoordinationServiceCancelRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceCancelResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCancelMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Gives the pending answer. The same answer again is accepted and changes nothing; another one is refused.
     * </pre>
     */
    public void answer(antiphon.gen.AnswerRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.AnswerResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAnswerMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CoordinationService.
   * <pre>
   * Tells where coordinations are and takes answers from anywhere.
   * </pre>
   */
  public static final class CoordinationServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<CoordinationServiceBlockingV2Stub> {
    private CoordinationServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CoordinationServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CoordinationServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one, with what it waits for.
     * </pre>
     */
    public antiphon.gen.CoordinationServiceGetResponse get(antiphon.gen.CoordinationServiceGetRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists them by id, filtered by what they wait for, since when, and by labels.
     * </pre>
     */
    public antiphon.gen.CoordinationServiceListResponse list(antiphon.gen.CoordinationServiceListRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends one. Ending one that has ended changes nothing.
     * </pre>
     */
    public antiphon.gen.CoordinationServiceCancelResponse cancel(antiphon.gen.CoordinationServiceCancelRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCancelMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives the pending answer. The same answer again is accepted and changes nothing; another one is refused.
     * </pre>
     */
    public antiphon.gen.AnswerResponse answer(antiphon.gen.AnswerRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAnswerMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service CoordinationService.
   * <pre>
   * Tells where coordinations are and takes answers from anywhere.
   * </pre>
   */
  public static final class CoordinationServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CoordinationServiceBlockingStub> {
    private CoordinationServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CoordinationServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CoordinationServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one, with what it waits for.
     * </pre>
     */
    public antiphon.gen.CoordinationServiceGetResponse get(antiphon.gen.CoordinationServiceGetRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists them by id, filtered by what they wait for, since when, and by labels.
     * </pre>
     */
    public antiphon.gen.CoordinationServiceListResponse list(antiphon.gen.CoordinationServiceListRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends one. Ending one that has ended changes nothing.
     * </pre>
     */
    public antiphon.gen.CoordinationServiceCancelResponse cancel(antiphon.gen.CoordinationServiceCancelRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCancelMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives the pending answer. The same answer again is accepted and changes nothing; another one is refused.
     * </pre>
     */
    public antiphon.gen.AnswerResponse answer(antiphon.gen.AnswerRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAnswerMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CoordinationService.
   * <pre>
   * Tells where coordinations are and takes answers from anywhere.
   * </pre>
   */
  public static final class CoordinationServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CoordinationServiceFutureStub> {
    private CoordinationServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CoordinationServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CoordinationServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reads one, with what it waits for.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.CoordinationServiceGetResponse> get(
        antiphon.gen.CoordinationServiceGetRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists them by id, filtered by what they wait for, since when, and by labels.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.CoordinationServiceListResponse> list(
        antiphon.gen.CoordinationServiceListRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends one. Ending one that has ended changes nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.CoordinationServiceCancelResponse> cancel(
        antiphon.gen.CoordinationServiceCancelRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCancelMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Gives the pending answer. The same answer again is accepted and changes nothing; another one is refused.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.AnswerResponse> answer(
        antiphon.gen.AnswerRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAnswerMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET = 0;
  private static final int METHODID_LIST = 1;
  private static final int METHODID_CANCEL = 2;
  private static final int METHODID_ANSWER = 3;

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
          serviceImpl.get((antiphon.gen.CoordinationServiceGetRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceGetResponse>) responseObserver);
          break;
        case METHODID_LIST:
          serviceImpl.list((antiphon.gen.CoordinationServiceListRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceListResponse>) responseObserver);
          break;
        case METHODID_CANCEL:
          serviceImpl.cancel((antiphon.gen.CoordinationServiceCancelRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.CoordinationServiceCancelResponse>) responseObserver);
          break;
        case METHODID_ANSWER:
          serviceImpl.answer((antiphon.gen.AnswerRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.AnswerResponse>) responseObserver);
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
              antiphon.gen.CoordinationServiceGetRequest,
              antiphon.gen.CoordinationServiceGetResponse>(
                service, METHODID_GET)))
        .addMethod(
          getListMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.CoordinationServiceListRequest,
              antiphon.gen.CoordinationServiceListResponse>(
                service, METHODID_LIST)))
        .addMethod(
          getCancelMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.CoordinationServiceCancelRequest,
              antiphon.gen.CoordinationServiceCancelResponse>(
                service, METHODID_CANCEL)))
        .addMethod(
          getAnswerMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.AnswerRequest,
              antiphon.gen.AnswerResponse>(
                service, METHODID_ANSWER)))
        .build();
  }

  private static abstract class CoordinationServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CoordinationServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.CoordinationServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CoordinationService");
    }
  }

  private static final class CoordinationServiceFileDescriptorSupplier
      extends CoordinationServiceBaseDescriptorSupplier {
    CoordinationServiceFileDescriptorSupplier() {}
  }

  private static final class CoordinationServiceMethodDescriptorSupplier
      extends CoordinationServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CoordinationServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CoordinationServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CoordinationServiceFileDescriptorSupplier())
              .addMethod(getGetMethod())
              .addMethod(getListMethod())
              .addMethod(getCancelMethod())
              .addMethod(getAnswerMethod())
              .build();
        }
      }
    }
    return result;
  }
}
