package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Reads the graph of exchanges.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class GraphServiceGrpc {

  private GraphServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.GraphService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListChildrenRequest,
      antiphon.gen.ListChildrenResponse> getListChildrenMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListChildren",
      requestType = antiphon.gen.ListChildrenRequest.class,
      responseType = antiphon.gen.ListChildrenResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListChildrenRequest,
      antiphon.gen.ListChildrenResponse> getListChildrenMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListChildrenRequest, antiphon.gen.ListChildrenResponse> getListChildrenMethod;
    if ((getListChildrenMethod = GraphServiceGrpc.getListChildrenMethod) == null) {
      synchronized (GraphServiceGrpc.class) {
        if ((getListChildrenMethod = GraphServiceGrpc.getListChildrenMethod) == null) {
          GraphServiceGrpc.getListChildrenMethod = getListChildrenMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListChildrenRequest, antiphon.gen.ListChildrenResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListChildren"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListChildrenRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListChildrenResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GraphServiceMethodDescriptorSupplier("ListChildren"))
              .build();
        }
      }
    }
    return getListChildrenMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListAncestorsRequest,
      antiphon.gen.ListAncestorsResponse> getListAncestorsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListAncestors",
      requestType = antiphon.gen.ListAncestorsRequest.class,
      responseType = antiphon.gen.ListAncestorsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListAncestorsRequest,
      antiphon.gen.ListAncestorsResponse> getListAncestorsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListAncestorsRequest, antiphon.gen.ListAncestorsResponse> getListAncestorsMethod;
    if ((getListAncestorsMethod = GraphServiceGrpc.getListAncestorsMethod) == null) {
      synchronized (GraphServiceGrpc.class) {
        if ((getListAncestorsMethod = GraphServiceGrpc.getListAncestorsMethod) == null) {
          GraphServiceGrpc.getListAncestorsMethod = getListAncestorsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListAncestorsRequest, antiphon.gen.ListAncestorsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListAncestors"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListAncestorsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListAncestorsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GraphServiceMethodDescriptorSupplier("ListAncestors"))
              .build();
        }
      }
    }
    return getListAncestorsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.GetCommonAncestorRequest,
      antiphon.gen.GetCommonAncestorResponse> getGetCommonAncestorMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetCommonAncestor",
      requestType = antiphon.gen.GetCommonAncestorRequest.class,
      responseType = antiphon.gen.GetCommonAncestorResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.GetCommonAncestorRequest,
      antiphon.gen.GetCommonAncestorResponse> getGetCommonAncestorMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.GetCommonAncestorRequest, antiphon.gen.GetCommonAncestorResponse> getGetCommonAncestorMethod;
    if ((getGetCommonAncestorMethod = GraphServiceGrpc.getGetCommonAncestorMethod) == null) {
      synchronized (GraphServiceGrpc.class) {
        if ((getGetCommonAncestorMethod = GraphServiceGrpc.getGetCommonAncestorMethod) == null) {
          GraphServiceGrpc.getGetCommonAncestorMethod = getGetCommonAncestorMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.GetCommonAncestorRequest, antiphon.gen.GetCommonAncestorResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetCommonAncestor"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetCommonAncestorRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetCommonAncestorResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GraphServiceMethodDescriptorSupplier("GetCommonAncestor"))
              .build();
        }
      }
    }
    return getGetCommonAncestorMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.DiffRequest,
      antiphon.gen.DiffResponse> getDiffMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Diff",
      requestType = antiphon.gen.DiffRequest.class,
      responseType = antiphon.gen.DiffResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.DiffRequest,
      antiphon.gen.DiffResponse> getDiffMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.DiffRequest, antiphon.gen.DiffResponse> getDiffMethod;
    if ((getDiffMethod = GraphServiceGrpc.getDiffMethod) == null) {
      synchronized (GraphServiceGrpc.class) {
        if ((getDiffMethod = GraphServiceGrpc.getDiffMethod) == null) {
          GraphServiceGrpc.getDiffMethod = getDiffMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.DiffRequest, antiphon.gen.DiffResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Diff"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.DiffRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.DiffResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GraphServiceMethodDescriptorSupplier("Diff"))
              .build();
        }
      }
    }
    return getDiffMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.GetGraphRequest,
      antiphon.gen.GetGraphResponse> getGetGraphMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetGraph",
      requestType = antiphon.gen.GetGraphRequest.class,
      responseType = antiphon.gen.GetGraphResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.GetGraphRequest,
      antiphon.gen.GetGraphResponse> getGetGraphMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.GetGraphRequest, antiphon.gen.GetGraphResponse> getGetGraphMethod;
    if ((getGetGraphMethod = GraphServiceGrpc.getGetGraphMethod) == null) {
      synchronized (GraphServiceGrpc.class) {
        if ((getGetGraphMethod = GraphServiceGrpc.getGetGraphMethod) == null) {
          GraphServiceGrpc.getGetGraphMethod = getGetGraphMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.GetGraphRequest, antiphon.gen.GetGraphResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetGraph"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetGraphRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetGraphResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GraphServiceMethodDescriptorSupplier("GetGraph"))
              .build();
        }
      }
    }
    return getGetGraphMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.SearchRequest,
      antiphon.gen.SearchResponse> getSearchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Search",
      requestType = antiphon.gen.SearchRequest.class,
      responseType = antiphon.gen.SearchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.SearchRequest,
      antiphon.gen.SearchResponse> getSearchMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.SearchRequest, antiphon.gen.SearchResponse> getSearchMethod;
    if ((getSearchMethod = GraphServiceGrpc.getSearchMethod) == null) {
      synchronized (GraphServiceGrpc.class) {
        if ((getSearchMethod = GraphServiceGrpc.getSearchMethod) == null) {
          GraphServiceGrpc.getSearchMethod = getSearchMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.SearchRequest, antiphon.gen.SearchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Search"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.SearchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.SearchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GraphServiceMethodDescriptorSupplier("Search"))
              .build();
        }
      }
    }
    return getSearchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.SumUsageRequest,
      antiphon.gen.SumUsageResponse> getSumUsageMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SumUsage",
      requestType = antiphon.gen.SumUsageRequest.class,
      responseType = antiphon.gen.SumUsageResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.SumUsageRequest,
      antiphon.gen.SumUsageResponse> getSumUsageMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.SumUsageRequest, antiphon.gen.SumUsageResponse> getSumUsageMethod;
    if ((getSumUsageMethod = GraphServiceGrpc.getSumUsageMethod) == null) {
      synchronized (GraphServiceGrpc.class) {
        if ((getSumUsageMethod = GraphServiceGrpc.getSumUsageMethod) == null) {
          GraphServiceGrpc.getSumUsageMethod = getSumUsageMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.SumUsageRequest, antiphon.gen.SumUsageResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SumUsage"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.SumUsageRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.SumUsageResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GraphServiceMethodDescriptorSupplier("SumUsage"))
              .build();
        }
      }
    }
    return getSumUsageMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static GraphServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GraphServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GraphServiceStub>() {
        @java.lang.Override
        public GraphServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GraphServiceStub(channel, callOptions);
        }
      };
    return GraphServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static GraphServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GraphServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GraphServiceBlockingV2Stub>() {
        @java.lang.Override
        public GraphServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GraphServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return GraphServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static GraphServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GraphServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GraphServiceBlockingStub>() {
        @java.lang.Override
        public GraphServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GraphServiceBlockingStub(channel, callOptions);
        }
      };
    return GraphServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static GraphServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GraphServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GraphServiceFutureStub>() {
        @java.lang.Override
        public GraphServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GraphServiceFutureStub(channel, callOptions);
        }
      };
    return GraphServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Reads the graph of exchanges.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Lists the exchanges that follow from one, oldest first.
     * </pre>
     */
    default void listChildren(antiphon.gen.ListChildrenRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListChildrenResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListChildrenMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the exchanges before one, nearest first.
     * </pre>
     */
    default void listAncestors(antiphon.gen.ListAncestorsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListAncestorsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListAncestorsMethod(), responseObserver);
    }

    /**
     * <pre>
     * The last exchange that is on the paths of all.
     * </pre>
     */
    default void getCommonAncestor(antiphon.gen.GetCommonAncestorRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetCommonAncestorResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetCommonAncestorMethod(), responseObserver);
    }

    /**
     * <pre>
     * Compares two exchanges: messages, settings, tools, documents.
     * </pre>
     */
    default void diff(antiphon.gen.DiffRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.DiffResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDiffMethod(), responseObserver);
    }

    /**
     * <pre>
     * A part of the graph, as data, text, DOT or Mermaid.
     * </pre>
     */
    default void getGraph(antiphon.gen.GetGraphRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetGraphResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetGraphMethod(), responseObserver);
    }

    /**
     * <pre>
     * Finds exchanges, newest first, and after them runs that have none, by id. Along a path, nearest to its end first, and no such runs.
     * </pre>
     */
    default void search(antiphon.gen.SearchRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.SearchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSearchMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sums what runs consumed, each counted once.
     * </pre>
     */
    default void sumUsage(antiphon.gen.SumUsageRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.SumUsageResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSumUsageMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service GraphService.
   * <pre>
   * Reads the graph of exchanges.
   * </pre>
   */
  public static abstract class GraphServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return GraphServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service GraphService.
   * <pre>
   * Reads the graph of exchanges.
   * </pre>
   */
  public static final class GraphServiceStub
      extends io.grpc.stub.AbstractAsyncStub<GraphServiceStub> {
    private GraphServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GraphServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GraphServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the exchanges that follow from one, oldest first.
     * </pre>
     */
    public void listChildren(antiphon.gen.ListChildrenRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListChildrenResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListChildrenMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the exchanges before one, nearest first.
     * </pre>
     */
    public void listAncestors(antiphon.gen.ListAncestorsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListAncestorsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListAncestorsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The last exchange that is on the paths of all.
     * </pre>
     */
    public void getCommonAncestor(antiphon.gen.GetCommonAncestorRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetCommonAncestorResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetCommonAncestorMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Compares two exchanges: messages, settings, tools, documents.
     * </pre>
     */
    public void diff(antiphon.gen.DiffRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.DiffResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDiffMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A part of the graph, as data, text, DOT or Mermaid.
     * </pre>
     */
    public void getGraph(antiphon.gen.GetGraphRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetGraphResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetGraphMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Finds exchanges, newest first, and after them runs that have none, by id. Along a path, nearest to its end first, and no such runs.
     * </pre>
     */
    public void search(antiphon.gen.SearchRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.SearchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSearchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sums what runs consumed, each counted once.
     * </pre>
     */
    public void sumUsage(antiphon.gen.SumUsageRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.SumUsageResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSumUsageMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service GraphService.
   * <pre>
   * Reads the graph of exchanges.
   * </pre>
   */
  public static final class GraphServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<GraphServiceBlockingV2Stub> {
    private GraphServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GraphServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GraphServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the exchanges that follow from one, oldest first.
     * </pre>
     */
    public antiphon.gen.ListChildrenResponse listChildren(antiphon.gen.ListChildrenRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListChildrenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the exchanges before one, nearest first.
     * </pre>
     */
    public antiphon.gen.ListAncestorsResponse listAncestors(antiphon.gen.ListAncestorsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListAncestorsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The last exchange that is on the paths of all.
     * </pre>
     */
    public antiphon.gen.GetCommonAncestorResponse getCommonAncestor(antiphon.gen.GetCommonAncestorRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetCommonAncestorMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Compares two exchanges: messages, settings, tools, documents.
     * </pre>
     */
    public antiphon.gen.DiffResponse diff(antiphon.gen.DiffRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDiffMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A part of the graph, as data, text, DOT or Mermaid.
     * </pre>
     */
    public antiphon.gen.GetGraphResponse getGraph(antiphon.gen.GetGraphRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetGraphMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Finds exchanges, newest first, and after them runs that have none, by id. Along a path, nearest to its end first, and no such runs.
     * </pre>
     */
    public antiphon.gen.SearchResponse search(antiphon.gen.SearchRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSearchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sums what runs consumed, each counted once.
     * </pre>
     */
    public antiphon.gen.SumUsageResponse sumUsage(antiphon.gen.SumUsageRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSumUsageMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service GraphService.
   * <pre>
   * Reads the graph of exchanges.
   * </pre>
   */
  public static final class GraphServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<GraphServiceBlockingStub> {
    private GraphServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GraphServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GraphServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the exchanges that follow from one, oldest first.
     * </pre>
     */
    public antiphon.gen.ListChildrenResponse listChildren(antiphon.gen.ListChildrenRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListChildrenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the exchanges before one, nearest first.
     * </pre>
     */
    public antiphon.gen.ListAncestorsResponse listAncestors(antiphon.gen.ListAncestorsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListAncestorsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The last exchange that is on the paths of all.
     * </pre>
     */
    public antiphon.gen.GetCommonAncestorResponse getCommonAncestor(antiphon.gen.GetCommonAncestorRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetCommonAncestorMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Compares two exchanges: messages, settings, tools, documents.
     * </pre>
     */
    public antiphon.gen.DiffResponse diff(antiphon.gen.DiffRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDiffMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A part of the graph, as data, text, DOT or Mermaid.
     * </pre>
     */
    public antiphon.gen.GetGraphResponse getGraph(antiphon.gen.GetGraphRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetGraphMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Finds exchanges, newest first, and after them runs that have none, by id. Along a path, nearest to its end first, and no such runs.
     * </pre>
     */
    public antiphon.gen.SearchResponse search(antiphon.gen.SearchRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSearchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sums what runs consumed, each counted once.
     * </pre>
     */
    public antiphon.gen.SumUsageResponse sumUsage(antiphon.gen.SumUsageRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSumUsageMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service GraphService.
   * <pre>
   * Reads the graph of exchanges.
   * </pre>
   */
  public static final class GraphServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<GraphServiceFutureStub> {
    private GraphServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GraphServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GraphServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the exchanges that follow from one, oldest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListChildrenResponse> listChildren(
        antiphon.gen.ListChildrenRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListChildrenMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the exchanges before one, nearest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListAncestorsResponse> listAncestors(
        antiphon.gen.ListAncestorsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListAncestorsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The last exchange that is on the paths of all.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.GetCommonAncestorResponse> getCommonAncestor(
        antiphon.gen.GetCommonAncestorRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetCommonAncestorMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Compares two exchanges: messages, settings, tools, documents.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.DiffResponse> diff(
        antiphon.gen.DiffRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDiffMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * A part of the graph, as data, text, DOT or Mermaid.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.GetGraphResponse> getGraph(
        antiphon.gen.GetGraphRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetGraphMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Finds exchanges, newest first, and after them runs that have none, by id. Along a path, nearest to its end first, and no such runs.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.SearchResponse> search(
        antiphon.gen.SearchRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSearchMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sums what runs consumed, each counted once.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.SumUsageResponse> sumUsage(
        antiphon.gen.SumUsageRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSumUsageMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_CHILDREN = 0;
  private static final int METHODID_LIST_ANCESTORS = 1;
  private static final int METHODID_GET_COMMON_ANCESTOR = 2;
  private static final int METHODID_DIFF = 3;
  private static final int METHODID_GET_GRAPH = 4;
  private static final int METHODID_SEARCH = 5;
  private static final int METHODID_SUM_USAGE = 6;

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
        case METHODID_LIST_CHILDREN:
          serviceImpl.listChildren((antiphon.gen.ListChildrenRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListChildrenResponse>) responseObserver);
          break;
        case METHODID_LIST_ANCESTORS:
          serviceImpl.listAncestors((antiphon.gen.ListAncestorsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListAncestorsResponse>) responseObserver);
          break;
        case METHODID_GET_COMMON_ANCESTOR:
          serviceImpl.getCommonAncestor((antiphon.gen.GetCommonAncestorRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.GetCommonAncestorResponse>) responseObserver);
          break;
        case METHODID_DIFF:
          serviceImpl.diff((antiphon.gen.DiffRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.DiffResponse>) responseObserver);
          break;
        case METHODID_GET_GRAPH:
          serviceImpl.getGraph((antiphon.gen.GetGraphRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.GetGraphResponse>) responseObserver);
          break;
        case METHODID_SEARCH:
          serviceImpl.search((antiphon.gen.SearchRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.SearchResponse>) responseObserver);
          break;
        case METHODID_SUM_USAGE:
          serviceImpl.sumUsage((antiphon.gen.SumUsageRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.SumUsageResponse>) responseObserver);
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
          getListChildrenMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListChildrenRequest,
              antiphon.gen.ListChildrenResponse>(
                service, METHODID_LIST_CHILDREN)))
        .addMethod(
          getListAncestorsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListAncestorsRequest,
              antiphon.gen.ListAncestorsResponse>(
                service, METHODID_LIST_ANCESTORS)))
        .addMethod(
          getGetCommonAncestorMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.GetCommonAncestorRequest,
              antiphon.gen.GetCommonAncestorResponse>(
                service, METHODID_GET_COMMON_ANCESTOR)))
        .addMethod(
          getDiffMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.DiffRequest,
              antiphon.gen.DiffResponse>(
                service, METHODID_DIFF)))
        .addMethod(
          getGetGraphMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.GetGraphRequest,
              antiphon.gen.GetGraphResponse>(
                service, METHODID_GET_GRAPH)))
        .addMethod(
          getSearchMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.SearchRequest,
              antiphon.gen.SearchResponse>(
                service, METHODID_SEARCH)))
        .addMethod(
          getSumUsageMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.SumUsageRequest,
              antiphon.gen.SumUsageResponse>(
                service, METHODID_SUM_USAGE)))
        .build();
  }

  private static abstract class GraphServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    GraphServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.GraphServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("GraphService");
    }
  }

  private static final class GraphServiceFileDescriptorSupplier
      extends GraphServiceBaseDescriptorSupplier {
    GraphServiceFileDescriptorSupplier() {}
  }

  private static final class GraphServiceMethodDescriptorSupplier
      extends GraphServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    GraphServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (GraphServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new GraphServiceFileDescriptorSupplier())
              .addMethod(getListChildrenMethod())
              .addMethod(getListAncestorsMethod())
              .addMethod(getGetCommonAncestorMethod())
              .addMethod(getDiffMethod())
              .addMethod(getGetGraphMethod())
              .addMethod(getSearchMethod())
              .addMethod(getSumUsageMethod())
              .build();
        }
      }
    }
    return result;
  }
}
