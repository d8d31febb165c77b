package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Keeps named documents with a thread. Each branch has its own; a fork carries those of its point.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class WorkspaceServiceGrpc {

  private WorkspaceServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.WorkspaceService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListDocumentsRequest,
      antiphon.gen.ListDocumentsResponse> getListDocumentsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListDocuments",
      requestType = antiphon.gen.ListDocumentsRequest.class,
      responseType = antiphon.gen.ListDocumentsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListDocumentsRequest,
      antiphon.gen.ListDocumentsResponse> getListDocumentsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListDocumentsRequest, antiphon.gen.ListDocumentsResponse> getListDocumentsMethod;
    if ((getListDocumentsMethod = WorkspaceServiceGrpc.getListDocumentsMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getListDocumentsMethod = WorkspaceServiceGrpc.getListDocumentsMethod) == null) {
          WorkspaceServiceGrpc.getListDocumentsMethod = getListDocumentsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListDocumentsRequest, antiphon.gen.ListDocumentsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListDocuments"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListDocumentsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListDocumentsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("ListDocuments"))
              .build();
        }
      }
    }
    return getListDocumentsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ReadDocumentRequest,
      antiphon.gen.ReadDocumentResponse> getReadDocumentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReadDocument",
      requestType = antiphon.gen.ReadDocumentRequest.class,
      responseType = antiphon.gen.ReadDocumentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ReadDocumentRequest,
      antiphon.gen.ReadDocumentResponse> getReadDocumentMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ReadDocumentRequest, antiphon.gen.ReadDocumentResponse> getReadDocumentMethod;
    if ((getReadDocumentMethod = WorkspaceServiceGrpc.getReadDocumentMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getReadDocumentMethod = WorkspaceServiceGrpc.getReadDocumentMethod) == null) {
          WorkspaceServiceGrpc.getReadDocumentMethod = getReadDocumentMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ReadDocumentRequest, antiphon.gen.ReadDocumentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReadDocument"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ReadDocumentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ReadDocumentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("ReadDocument"))
              .build();
        }
      }
    }
    return getReadDocumentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.StreamReadDocumentRequest,
      antiphon.gen.StreamReadDocumentResponse> getStreamReadDocumentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamReadDocument",
      requestType = antiphon.gen.StreamReadDocumentRequest.class,
      responseType = antiphon.gen.StreamReadDocumentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.StreamReadDocumentRequest,
      antiphon.gen.StreamReadDocumentResponse> getStreamReadDocumentMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.StreamReadDocumentRequest, antiphon.gen.StreamReadDocumentResponse> getStreamReadDocumentMethod;
    if ((getStreamReadDocumentMethod = WorkspaceServiceGrpc.getStreamReadDocumentMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getStreamReadDocumentMethod = WorkspaceServiceGrpc.getStreamReadDocumentMethod) == null) {
          WorkspaceServiceGrpc.getStreamReadDocumentMethod = getStreamReadDocumentMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.StreamReadDocumentRequest, antiphon.gen.StreamReadDocumentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamReadDocument"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamReadDocumentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamReadDocumentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("StreamReadDocument"))
              .build();
        }
      }
    }
    return getStreamReadDocumentMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.DiffDocumentsRequest,
      antiphon.gen.DiffDocumentsResponse> getDiffDocumentsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DiffDocuments",
      requestType = antiphon.gen.DiffDocumentsRequest.class,
      responseType = antiphon.gen.DiffDocumentsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.DiffDocumentsRequest,
      antiphon.gen.DiffDocumentsResponse> getDiffDocumentsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.DiffDocumentsRequest, antiphon.gen.DiffDocumentsResponse> getDiffDocumentsMethod;
    if ((getDiffDocumentsMethod = WorkspaceServiceGrpc.getDiffDocumentsMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getDiffDocumentsMethod = WorkspaceServiceGrpc.getDiffDocumentsMethod) == null) {
          WorkspaceServiceGrpc.getDiffDocumentsMethod = getDiffDocumentsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.DiffDocumentsRequest, antiphon.gen.DiffDocumentsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DiffDocuments"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.DiffDocumentsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.DiffDocumentsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("DiffDocuments"))
              .build();
        }
      }
    }
    return getDiffDocumentsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.WriteDocumentsRequest,
      antiphon.gen.WriteDocumentsResponse> getWriteDocumentsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WriteDocuments",
      requestType = antiphon.gen.WriteDocumentsRequest.class,
      responseType = antiphon.gen.WriteDocumentsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.WriteDocumentsRequest,
      antiphon.gen.WriteDocumentsResponse> getWriteDocumentsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.WriteDocumentsRequest, antiphon.gen.WriteDocumentsResponse> getWriteDocumentsMethod;
    if ((getWriteDocumentsMethod = WorkspaceServiceGrpc.getWriteDocumentsMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getWriteDocumentsMethod = WorkspaceServiceGrpc.getWriteDocumentsMethod) == null) {
          WorkspaceServiceGrpc.getWriteDocumentsMethod = getWriteDocumentsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.WriteDocumentsRequest, antiphon.gen.WriteDocumentsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WriteDocuments"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.WriteDocumentsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.WriteDocumentsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("WriteDocuments"))
              .build();
        }
      }
    }
    return getWriteDocumentsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.StreamWriteDocumentRequest,
      antiphon.gen.StreamWriteDocumentResponse> getStreamWriteDocumentMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamWriteDocument",
      requestType = antiphon.gen.StreamWriteDocumentRequest.class,
      responseType = antiphon.gen.StreamWriteDocumentResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.StreamWriteDocumentRequest,
      antiphon.gen.StreamWriteDocumentResponse> getStreamWriteDocumentMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.StreamWriteDocumentRequest, antiphon.gen.StreamWriteDocumentResponse> getStreamWriteDocumentMethod;
    if ((getStreamWriteDocumentMethod = WorkspaceServiceGrpc.getStreamWriteDocumentMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getStreamWriteDocumentMethod = WorkspaceServiceGrpc.getStreamWriteDocumentMethod) == null) {
          WorkspaceServiceGrpc.getStreamWriteDocumentMethod = getStreamWriteDocumentMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.StreamWriteDocumentRequest, antiphon.gen.StreamWriteDocumentResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamWriteDocument"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamWriteDocumentRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StreamWriteDocumentResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("StreamWriteDocument"))
              .build();
        }
      }
    }
    return getStreamWriteDocumentMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static WorkspaceServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceStub>() {
        @java.lang.Override
        public WorkspaceServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceStub(channel, callOptions);
        }
      };
    return WorkspaceServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static WorkspaceServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingV2Stub>() {
        @java.lang.Override
        public WorkspaceServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return WorkspaceServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static WorkspaceServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingStub>() {
        @java.lang.Override
        public WorkspaceServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceBlockingStub(channel, callOptions);
        }
      };
    return WorkspaceServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static WorkspaceServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceFutureStub>() {
        @java.lang.Override
        public WorkspaceServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceFutureStub(channel, callOptions);
        }
      };
    return WorkspaceServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Keeps named documents with a thread. Each branch has its own; a fork carries those of its point.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Lists the documents of a version, by name.
     * </pre>
     */
    default void listDocuments(antiphon.gen.ListDocumentsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListDocumentsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListDocumentsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads a document of up to 1 MiB.
     * </pre>
     */
    default void readDocument(antiphon.gen.ReadDocumentRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ReadDocumentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReadDocumentMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads a document of any size in pieces.
     * </pre>
     */
    default void streamReadDocument(antiphon.gen.StreamReadDocumentRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamReadDocumentResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamReadDocumentMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the documents in which two versions differ, by name.
     * </pre>
     */
    default void diffDocuments(antiphon.gen.DiffDocumentsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.DiffDocumentsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDiffDocumentsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Changes documents of a thread's live state, all in one write.
     * </pre>
     */
    default void writeDocuments(antiphon.gen.WriteDocumentsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.WriteDocumentsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWriteDocumentsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Writes one document of any size in pieces. A stream that ends without `commit` writes nothing.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<antiphon.gen.StreamWriteDocumentRequest> streamWriteDocument(
        io.grpc.stub.StreamObserver<antiphon.gen.StreamWriteDocumentResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getStreamWriteDocumentMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service WorkspaceService.
   * <pre>
   * Keeps named documents with a thread. Each branch has its own; a fork carries those of its point.
   * </pre>
   */
  public static abstract class WorkspaceServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return WorkspaceServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service WorkspaceService.
   * <pre>
   * Keeps named documents with a thread. Each branch has its own; a fork carries those of its point.
   * </pre>
   */
  public static final class WorkspaceServiceStub
      extends io.grpc.stub.AbstractAsyncStub<WorkspaceServiceStub> {
    private WorkspaceServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the documents of a version, by name.
     * </pre>
     */
    public void listDocuments(antiphon.gen.ListDocumentsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListDocumentsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListDocumentsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads a document of up to 1 MiB.
     * </pre>
     */
    public void readDocument(antiphon.gen.ReadDocumentRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ReadDocumentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReadDocumentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads a document of any size in pieces.
     * </pre>
     */
    public void streamReadDocument(antiphon.gen.StreamReadDocumentRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StreamReadDocumentResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamReadDocumentMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the documents in which two versions differ, by name.
     * </pre>
     */
    public void diffDocuments(antiphon.gen.DiffDocumentsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.DiffDocumentsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDiffDocumentsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Changes documents of a thread's live state, all in one write.
     * </pre>
     */
    public void writeDocuments(antiphon.gen.WriteDocumentsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.WriteDocumentsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getWriteDocumentsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Writes one document of any size in pieces. A stream that ends without `commit` writes nothing.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<antiphon.gen.StreamWriteDocumentRequest> streamWriteDocument(
        io.grpc.stub.StreamObserver<antiphon.gen.StreamWriteDocumentResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncClientStreamingCall(
          getChannel().newCall(getStreamWriteDocumentMethod(), getCallOptions()), responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service WorkspaceService.
   * <pre>
   * Keeps named documents with a thread. Each branch has its own; a fork carries those of its point.
   * </pre>
   */
  public static final class WorkspaceServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<WorkspaceServiceBlockingV2Stub> {
    private WorkspaceServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the documents of a version, by name.
     * </pre>
     */
    public antiphon.gen.ListDocumentsResponse listDocuments(antiphon.gen.ListDocumentsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListDocumentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a document of up to 1 MiB.
     * </pre>
     */
    public antiphon.gen.ReadDocumentResponse readDocument(antiphon.gen.ReadDocumentRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReadDocumentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a document of any size in pieces.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.StreamReadDocumentResponse>
        streamReadDocument(antiphon.gen.StreamReadDocumentRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamReadDocumentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the documents in which two versions differ, by name.
     * </pre>
     */
    public antiphon.gen.DiffDocumentsResponse diffDocuments(antiphon.gen.DiffDocumentsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDiffDocumentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes documents of a thread's live state, all in one write.
     * </pre>
     */
    public antiphon.gen.WriteDocumentsResponse writeDocuments(antiphon.gen.WriteDocumentsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getWriteDocumentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Writes one document of any size in pieces. A stream that ends without `commit` writes nothing.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<antiphon.gen.StreamWriteDocumentRequest, antiphon.gen.StreamWriteDocumentResponse>
        streamWriteDocument() {
      return io.grpc.stub.ClientCalls.blockingClientStreamingCall(
          getChannel(), getStreamWriteDocumentMethod(), getCallOptions());
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service WorkspaceService.
   * <pre>
   * Keeps named documents with a thread. Each branch has its own; a fork carries those of its point.
   * </pre>
   */
  public static final class WorkspaceServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<WorkspaceServiceBlockingStub> {
    private WorkspaceServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the documents of a version, by name.
     * </pre>
     */
    public antiphon.gen.ListDocumentsResponse listDocuments(antiphon.gen.ListDocumentsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListDocumentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a document of up to 1 MiB.
     * </pre>
     */
    public antiphon.gen.ReadDocumentResponse readDocument(antiphon.gen.ReadDocumentRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReadDocumentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a document of any size in pieces.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.StreamReadDocumentResponse> streamReadDocument(
        antiphon.gen.StreamReadDocumentRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamReadDocumentMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the documents in which two versions differ, by name.
     * </pre>
     */
    public antiphon.gen.DiffDocumentsResponse diffDocuments(antiphon.gen.DiffDocumentsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDiffDocumentsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes documents of a thread's live state, all in one write.
     * </pre>
     */
    public antiphon.gen.WriteDocumentsResponse writeDocuments(antiphon.gen.WriteDocumentsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getWriteDocumentsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service WorkspaceService.
   * <pre>
   * Keeps named documents with a thread. Each branch has its own; a fork carries those of its point.
   * </pre>
   */
  public static final class WorkspaceServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<WorkspaceServiceFutureStub> {
    private WorkspaceServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the documents of a version, by name.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListDocumentsResponse> listDocuments(
        antiphon.gen.ListDocumentsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListDocumentsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads a document of up to 1 MiB.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ReadDocumentResponse> readDocument(
        antiphon.gen.ReadDocumentRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReadDocumentMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the documents in which two versions differ, by name.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.DiffDocumentsResponse> diffDocuments(
        antiphon.gen.DiffDocumentsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDiffDocumentsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Changes documents of a thread's live state, all in one write.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.WriteDocumentsResponse> writeDocuments(
        antiphon.gen.WriteDocumentsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getWriteDocumentsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_DOCUMENTS = 0;
  private static final int METHODID_READ_DOCUMENT = 1;
  private static final int METHODID_STREAM_READ_DOCUMENT = 2;
  private static final int METHODID_DIFF_DOCUMENTS = 3;
  private static final int METHODID_WRITE_DOCUMENTS = 4;
  private static final int METHODID_STREAM_WRITE_DOCUMENT = 5;

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
        case METHODID_LIST_DOCUMENTS:
          serviceImpl.listDocuments((antiphon.gen.ListDocumentsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListDocumentsResponse>) responseObserver);
          break;
        case METHODID_READ_DOCUMENT:
          serviceImpl.readDocument((antiphon.gen.ReadDocumentRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ReadDocumentResponse>) responseObserver);
          break;
        case METHODID_STREAM_READ_DOCUMENT:
          serviceImpl.streamReadDocument((antiphon.gen.StreamReadDocumentRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.StreamReadDocumentResponse>) responseObserver);
          break;
        case METHODID_DIFF_DOCUMENTS:
          serviceImpl.diffDocuments((antiphon.gen.DiffDocumentsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.DiffDocumentsResponse>) responseObserver);
          break;
        case METHODID_WRITE_DOCUMENTS:
          serviceImpl.writeDocuments((antiphon.gen.WriteDocumentsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.WriteDocumentsResponse>) responseObserver);
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
        case METHODID_STREAM_WRITE_DOCUMENT:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.streamWriteDocument(
              (io.grpc.stub.StreamObserver<antiphon.gen.StreamWriteDocumentResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getListDocumentsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListDocumentsRequest,
              antiphon.gen.ListDocumentsResponse>(
                service, METHODID_LIST_DOCUMENTS)))
        .addMethod(
          getReadDocumentMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ReadDocumentRequest,
              antiphon.gen.ReadDocumentResponse>(
                service, METHODID_READ_DOCUMENT)))
        .addMethod(
          getStreamReadDocumentMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.StreamReadDocumentRequest,
              antiphon.gen.StreamReadDocumentResponse>(
                service, METHODID_STREAM_READ_DOCUMENT)))
        .addMethod(
          getDiffDocumentsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.DiffDocumentsRequest,
              antiphon.gen.DiffDocumentsResponse>(
                service, METHODID_DIFF_DOCUMENTS)))
        .addMethod(
          getWriteDocumentsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.WriteDocumentsRequest,
              antiphon.gen.WriteDocumentsResponse>(
                service, METHODID_WRITE_DOCUMENTS)))
        .addMethod(
          getStreamWriteDocumentMethod(),
          io.grpc.stub.ServerCalls.asyncClientStreamingCall(
            new MethodHandlers<
              antiphon.gen.StreamWriteDocumentRequest,
              antiphon.gen.StreamWriteDocumentResponse>(
                service, METHODID_STREAM_WRITE_DOCUMENT)))
        .build();
  }

  private static abstract class WorkspaceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    WorkspaceServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.WorkspaceServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("WorkspaceService");
    }
  }

  private static final class WorkspaceServiceFileDescriptorSupplier
      extends WorkspaceServiceBaseDescriptorSupplier {
    WorkspaceServiceFileDescriptorSupplier() {}
  }

  private static final class WorkspaceServiceMethodDescriptorSupplier
      extends WorkspaceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    WorkspaceServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (WorkspaceServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new WorkspaceServiceFileDescriptorSupplier())
              .addMethod(getListDocumentsMethod())
              .addMethod(getReadDocumentMethod())
              .addMethod(getStreamReadDocumentMethod())
              .addMethod(getDiffDocumentsMethod())
              .addMethod(getWriteDocumentsMethod())
              .addMethod(getStreamWriteDocumentMethod())
              .build();
        }
      }
    }
    return result;
  }
}
