package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Keeps named bookmarks into the graph.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ThreadServiceGrpc {

  private ThreadServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.ThreadService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceCreateRequest,
      antiphon.gen.ThreadServiceCreateResponse> getCreateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Create",
      requestType = antiphon.gen.ThreadServiceCreateRequest.class,
      responseType = antiphon.gen.ThreadServiceCreateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceCreateRequest,
      antiphon.gen.ThreadServiceCreateResponse> getCreateMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceCreateRequest, antiphon.gen.ThreadServiceCreateResponse> getCreateMethod;
    if ((getCreateMethod = ThreadServiceGrpc.getCreateMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getCreateMethod = ThreadServiceGrpc.getCreateMethod) == null) {
          ThreadServiceGrpc.getCreateMethod = getCreateMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ThreadServiceCreateRequest, antiphon.gen.ThreadServiceCreateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Create"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceCreateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceCreateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("Create"))
              .build();
        }
      }
    }
    return getCreateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceGetRequest,
      antiphon.gen.ThreadServiceGetResponse> getGetMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Get",
      requestType = antiphon.gen.ThreadServiceGetRequest.class,
      responseType = antiphon.gen.ThreadServiceGetResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceGetRequest,
      antiphon.gen.ThreadServiceGetResponse> getGetMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceGetRequest, antiphon.gen.ThreadServiceGetResponse> getGetMethod;
    if ((getGetMethod = ThreadServiceGrpc.getGetMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getGetMethod = ThreadServiceGrpc.getGetMethod) == null) {
          ThreadServiceGrpc.getGetMethod = getGetMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ThreadServiceGetRequest, antiphon.gen.ThreadServiceGetResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Get"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceGetRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceGetResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("Get"))
              .build();
        }
      }
    }
    return getGetMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceListRequest,
      antiphon.gen.ThreadServiceListResponse> getListMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "List",
      requestType = antiphon.gen.ThreadServiceListRequest.class,
      responseType = antiphon.gen.ThreadServiceListResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceListRequest,
      antiphon.gen.ThreadServiceListResponse> getListMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceListRequest, antiphon.gen.ThreadServiceListResponse> getListMethod;
    if ((getListMethod = ThreadServiceGrpc.getListMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getListMethod = ThreadServiceGrpc.getListMethod) == null) {
          ThreadServiceGrpc.getListMethod = getListMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ThreadServiceListRequest, antiphon.gen.ThreadServiceListResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "List"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceListRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceListResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("List"))
              .build();
        }
      }
    }
    return getListMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceUpdateRequest,
      antiphon.gen.ThreadServiceUpdateResponse> getUpdateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Update",
      requestType = antiphon.gen.ThreadServiceUpdateRequest.class,
      responseType = antiphon.gen.ThreadServiceUpdateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceUpdateRequest,
      antiphon.gen.ThreadServiceUpdateResponse> getUpdateMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceUpdateRequest, antiphon.gen.ThreadServiceUpdateResponse> getUpdateMethod;
    if ((getUpdateMethod = ThreadServiceGrpc.getUpdateMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getUpdateMethod = ThreadServiceGrpc.getUpdateMethod) == null) {
          ThreadServiceGrpc.getUpdateMethod = getUpdateMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ThreadServiceUpdateRequest, antiphon.gen.ThreadServiceUpdateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Update"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceUpdateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceUpdateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("Update"))
              .build();
        }
      }
    }
    return getUpdateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceDeleteRequest,
      antiphon.gen.ThreadServiceDeleteResponse> getDeleteMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Delete",
      requestType = antiphon.gen.ThreadServiceDeleteRequest.class,
      responseType = antiphon.gen.ThreadServiceDeleteResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceDeleteRequest,
      antiphon.gen.ThreadServiceDeleteResponse> getDeleteMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ThreadServiceDeleteRequest, antiphon.gen.ThreadServiceDeleteResponse> getDeleteMethod;
    if ((getDeleteMethod = ThreadServiceGrpc.getDeleteMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getDeleteMethod = ThreadServiceGrpc.getDeleteMethod) == null) {
          ThreadServiceGrpc.getDeleteMethod = getDeleteMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ThreadServiceDeleteRequest, antiphon.gen.ThreadServiceDeleteResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Delete"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceDeleteRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ThreadServiceDeleteResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("Delete"))
              .build();
        }
      }
    }
    return getDeleteMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListTurnsRequest,
      antiphon.gen.ListTurnsResponse> getListTurnsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListTurns",
      requestType = antiphon.gen.ListTurnsRequest.class,
      responseType = antiphon.gen.ListTurnsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListTurnsRequest,
      antiphon.gen.ListTurnsResponse> getListTurnsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListTurnsRequest, antiphon.gen.ListTurnsResponse> getListTurnsMethod;
    if ((getListTurnsMethod = ThreadServiceGrpc.getListTurnsMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getListTurnsMethod = ThreadServiceGrpc.getListTurnsMethod) == null) {
          ThreadServiceGrpc.getListTurnsMethod = getListTurnsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListTurnsRequest, antiphon.gen.ListTurnsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListTurns"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListTurnsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListTurnsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("ListTurns"))
              .build();
        }
      }
    }
    return getListTurnsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.RestoreRequest,
      antiphon.gen.RestoreResponse> getRestoreMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Restore",
      requestType = antiphon.gen.RestoreRequest.class,
      responseType = antiphon.gen.RestoreResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.RestoreRequest,
      antiphon.gen.RestoreResponse> getRestoreMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.RestoreRequest, antiphon.gen.RestoreResponse> getRestoreMethod;
    if ((getRestoreMethod = ThreadServiceGrpc.getRestoreMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getRestoreMethod = ThreadServiceGrpc.getRestoreMethod) == null) {
          ThreadServiceGrpc.getRestoreMethod = getRestoreMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.RestoreRequest, antiphon.gen.RestoreResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Restore"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RestoreRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.RestoreResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("Restore"))
              .build();
        }
      }
    }
    return getRestoreMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListMovesRequest,
      antiphon.gen.ListMovesResponse> getListMovesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListMoves",
      requestType = antiphon.gen.ListMovesRequest.class,
      responseType = antiphon.gen.ListMovesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListMovesRequest,
      antiphon.gen.ListMovesResponse> getListMovesMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListMovesRequest, antiphon.gen.ListMovesResponse> getListMovesMethod;
    if ((getListMovesMethod = ThreadServiceGrpc.getListMovesMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getListMovesMethod = ThreadServiceGrpc.getListMovesMethod) == null) {
          ThreadServiceGrpc.getListMovesMethod = getListMovesMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListMovesRequest, antiphon.gen.ListMovesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListMoves"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListMovesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListMovesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("ListMoves"))
              .build();
        }
      }
    }
    return getListMovesMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ThreadServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceStub>() {
        @java.lang.Override
        public ThreadServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceStub(channel, callOptions);
        }
      };
    return ThreadServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ThreadServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingV2Stub>() {
        @java.lang.Override
        public ThreadServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ThreadServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ThreadServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingStub>() {
        @java.lang.Override
        public ThreadServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceBlockingStub(channel, callOptions);
        }
      };
    return ThreadServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ThreadServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceFutureStub>() {
        @java.lang.Override
        public ThreadServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceFutureStub(channel, callOptions);
        }
      };
    return ThreadServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Keeps named bookmarks into the graph.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Makes a thread, empty or at an exchange.
     * </pre>
     */
    default void create(antiphon.gen.ThreadServiceCreateRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceCreateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    default void get(antiphon.gen.ThreadServiceGetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceGetResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists them by id, filtered by labels.
     * </pre>
     */
    default void list(antiphon.gen.ThreadServiceListRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceListResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMethod(), responseObserver);
    }

    /**
     * <pre>
     * Changes name, labels, metadata or defaults. Never the head.
     * </pre>
     */
    default void update(antiphon.gen.ThreadServiceUpdateRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceUpdateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes the bookmark. Exchanges stay, and so do threads forked from it.
     * </pre>
     */
    default void delete(antiphon.gen.ThreadServiceDeleteRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceDeleteResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the turns on a thread's path.
     * </pre>
     */
    default void listTurns(antiphon.gen.ListTurnsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListTurnsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListTurnsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Moves the head to an earlier exchange, and the documents to those that were there then, deleting nothing.
     * </pre>
     */
    default void restore(antiphon.gen.RestoreRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RestoreResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRestoreMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists where the head was, newest first.
     * </pre>
     */
    default void listMoves(antiphon.gen.ListMovesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListMovesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMovesMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ThreadService.
   * <pre>
   * Keeps named bookmarks into the graph.
   * </pre>
   */
  public static abstract class ThreadServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ThreadServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ThreadService.
   * <pre>
   * Keeps named bookmarks into the graph.
   * </pre>
   */
  public static final class ThreadServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ThreadServiceStub> {
    private ThreadServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a thread, empty or at an exchange.
     * </pre>
     */
    public void create(antiphon.gen.ThreadServiceCreateRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceCreateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public void get(antiphon.gen.ThreadServiceGetRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceGetResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists them by id, filtered by labels.
     * </pre>
     */
    public void list(antiphon.gen.ThreadServiceListRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceListResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Changes name, labels, metadata or defaults. Never the head.
     * </pre>
     */
    public void update(antiphon.gen.ThreadServiceUpdateRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceUpdateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes the bookmark. Exchanges stay, and so do threads forked from it.
     * </pre>
     */
    public void delete(antiphon.gen.ThreadServiceDeleteRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceDeleteResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the turns on a thread's path.
     * </pre>
     */
    public void listTurns(antiphon.gen.ListTurnsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListTurnsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListTurnsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Moves the head to an earlier exchange, and the documents to those that were there then, deleting nothing.
     * </pre>
     */
    public void restore(antiphon.gen.RestoreRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.RestoreResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRestoreMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists where the head was, newest first.
     * </pre>
     */
    public void listMoves(antiphon.gen.ListMovesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListMovesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMovesMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ThreadService.
   * <pre>
   * Keeps named bookmarks into the graph.
   * </pre>
   */
  public static final class ThreadServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ThreadServiceBlockingV2Stub> {
    private ThreadServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a thread, empty or at an exchange.
     * </pre>
     */
    public antiphon.gen.ThreadServiceCreateResponse create(antiphon.gen.ThreadServiceCreateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public antiphon.gen.ThreadServiceGetResponse get(antiphon.gen.ThreadServiceGetRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists them by id, filtered by labels.
     * </pre>
     */
    public antiphon.gen.ThreadServiceListResponse list(antiphon.gen.ThreadServiceListRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes name, labels, metadata or defaults. Never the head.
     * </pre>
     */
    public antiphon.gen.ThreadServiceUpdateResponse update(antiphon.gen.ThreadServiceUpdateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes the bookmark. Exchanges stay, and so do threads forked from it.
     * </pre>
     */
    public antiphon.gen.ThreadServiceDeleteResponse delete(antiphon.gen.ThreadServiceDeleteRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the turns on a thread's path.
     * </pre>
     */
    public antiphon.gen.ListTurnsResponse listTurns(antiphon.gen.ListTurnsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListTurnsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Moves the head to an earlier exchange, and the documents to those that were there then, deleting nothing.
     * </pre>
     */
    public antiphon.gen.RestoreResponse restore(antiphon.gen.RestoreRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRestoreMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists where the head was, newest first.
     * </pre>
     */
    public antiphon.gen.ListMovesResponse listMoves(antiphon.gen.ListMovesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMovesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ThreadService.
   * <pre>
   * Keeps named bookmarks into the graph.
   * </pre>
   */
  public static final class ThreadServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ThreadServiceBlockingStub> {
    private ThreadServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a thread, empty or at an exchange.
     * </pre>
     */
    public antiphon.gen.ThreadServiceCreateResponse create(antiphon.gen.ThreadServiceCreateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public antiphon.gen.ThreadServiceGetResponse get(antiphon.gen.ThreadServiceGetRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists them by id, filtered by labels.
     * </pre>
     */
    public antiphon.gen.ThreadServiceListResponse list(antiphon.gen.ThreadServiceListRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes name, labels, metadata or defaults. Never the head.
     * </pre>
     */
    public antiphon.gen.ThreadServiceUpdateResponse update(antiphon.gen.ThreadServiceUpdateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes the bookmark. Exchanges stay, and so do threads forked from it.
     * </pre>
     */
    public antiphon.gen.ThreadServiceDeleteResponse delete(antiphon.gen.ThreadServiceDeleteRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the turns on a thread's path.
     * </pre>
     */
    public antiphon.gen.ListTurnsResponse listTurns(antiphon.gen.ListTurnsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListTurnsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Moves the head to an earlier exchange, and the documents to those that were there then, deleting nothing.
     * </pre>
     */
    public antiphon.gen.RestoreResponse restore(antiphon.gen.RestoreRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRestoreMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists where the head was, newest first.
     * </pre>
     */
    public antiphon.gen.ListMovesResponse listMoves(antiphon.gen.ListMovesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMovesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ThreadService.
   * <pre>
   * Keeps named bookmarks into the graph.
   * </pre>
   */
  public static final class ThreadServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ThreadServiceFutureStub> {
    private ThreadServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a thread, empty or at an exchange.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ThreadServiceCreateResponse> create(
        antiphon.gen.ThreadServiceCreateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ThreadServiceGetResponse> get(
        antiphon.gen.ThreadServiceGetRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists them by id, filtered by labels.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ThreadServiceListResponse> list(
        antiphon.gen.ThreadServiceListRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Changes name, labels, metadata or defaults. Never the head.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ThreadServiceUpdateResponse> update(
        antiphon.gen.ThreadServiceUpdateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes the bookmark. Exchanges stay, and so do threads forked from it.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ThreadServiceDeleteResponse> delete(
        antiphon.gen.ThreadServiceDeleteRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the turns on a thread's path.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListTurnsResponse> listTurns(
        antiphon.gen.ListTurnsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListTurnsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Moves the head to an earlier exchange, and the documents to those that were there then, deleting nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.RestoreResponse> restore(
        antiphon.gen.RestoreRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRestoreMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists where the head was, newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListMovesResponse> listMoves(
        antiphon.gen.ListMovesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMovesMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE = 0;
  private static final int METHODID_GET = 1;
  private static final int METHODID_LIST = 2;
  private static final int METHODID_UPDATE = 3;
  private static final int METHODID_DELETE = 4;
  private static final int METHODID_LIST_TURNS = 5;
  private static final int METHODID_RESTORE = 6;
  private static final int METHODID_LIST_MOVES = 7;

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
        case METHODID_CREATE:
          serviceImpl.create((antiphon.gen.ThreadServiceCreateRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceCreateResponse>) responseObserver);
          break;
        case METHODID_GET:
          serviceImpl.get((antiphon.gen.ThreadServiceGetRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceGetResponse>) responseObserver);
          break;
        case METHODID_LIST:
          serviceImpl.list((antiphon.gen.ThreadServiceListRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceListResponse>) responseObserver);
          break;
        case METHODID_UPDATE:
          serviceImpl.update((antiphon.gen.ThreadServiceUpdateRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceUpdateResponse>) responseObserver);
          break;
        case METHODID_DELETE:
          serviceImpl.delete((antiphon.gen.ThreadServiceDeleteRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ThreadServiceDeleteResponse>) responseObserver);
          break;
        case METHODID_LIST_TURNS:
          serviceImpl.listTurns((antiphon.gen.ListTurnsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListTurnsResponse>) responseObserver);
          break;
        case METHODID_RESTORE:
          serviceImpl.restore((antiphon.gen.RestoreRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.RestoreResponse>) responseObserver);
          break;
        case METHODID_LIST_MOVES:
          serviceImpl.listMoves((antiphon.gen.ListMovesRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListMovesResponse>) responseObserver);
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
          getCreateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ThreadServiceCreateRequest,
              antiphon.gen.ThreadServiceCreateResponse>(
                service, METHODID_CREATE)))
        .addMethod(
          getGetMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ThreadServiceGetRequest,
              antiphon.gen.ThreadServiceGetResponse>(
                service, METHODID_GET)))
        .addMethod(
          getListMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ThreadServiceListRequest,
              antiphon.gen.ThreadServiceListResponse>(
                service, METHODID_LIST)))
        .addMethod(
          getUpdateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ThreadServiceUpdateRequest,
              antiphon.gen.ThreadServiceUpdateResponse>(
                service, METHODID_UPDATE)))
        .addMethod(
          getDeleteMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ThreadServiceDeleteRequest,
              antiphon.gen.ThreadServiceDeleteResponse>(
                service, METHODID_DELETE)))
        .addMethod(
          getListTurnsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListTurnsRequest,
              antiphon.gen.ListTurnsResponse>(
                service, METHODID_LIST_TURNS)))
        .addMethod(
          getRestoreMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.RestoreRequest,
              antiphon.gen.RestoreResponse>(
                service, METHODID_RESTORE)))
        .addMethod(
          getListMovesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListMovesRequest,
              antiphon.gen.ListMovesResponse>(
                service, METHODID_LIST_MOVES)))
        .build();
  }

  private static abstract class ThreadServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ThreadServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.ThreadServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ThreadService");
    }
  }

  private static final class ThreadServiceFileDescriptorSupplier
      extends ThreadServiceBaseDescriptorSupplier {
    ThreadServiceFileDescriptorSupplier() {}
  }

  private static final class ThreadServiceMethodDescriptorSupplier
      extends ThreadServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ThreadServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ThreadServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ThreadServiceFileDescriptorSupplier())
              .addMethod(getCreateMethod())
              .addMethod(getGetMethod())
              .addMethod(getListMethod())
              .addMethod(getUpdateMethod())
              .addMethod(getDeleteMethod())
              .addMethod(getListTurnsMethod())
              .addMethod(getRestoreMethod())
              .addMethod(getListMovesMethod())
              .build();
        }
      }
    }
    return result;
  }
}
