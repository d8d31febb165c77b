package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Tells what is configured.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class CatalogServiceGrpc {

  private CatalogServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.CatalogService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListPromptsRequest,
      antiphon.gen.ListPromptsResponse> getListPromptsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListPrompts",
      requestType = antiphon.gen.ListPromptsRequest.class,
      responseType = antiphon.gen.ListPromptsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListPromptsRequest,
      antiphon.gen.ListPromptsResponse> getListPromptsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListPromptsRequest, antiphon.gen.ListPromptsResponse> getListPromptsMethod;
    if ((getListPromptsMethod = CatalogServiceGrpc.getListPromptsMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListPromptsMethod = CatalogServiceGrpc.getListPromptsMethod) == null) {
          CatalogServiceGrpc.getListPromptsMethod = getListPromptsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListPromptsRequest, antiphon.gen.ListPromptsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListPrompts"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListPromptsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListPromptsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListPrompts"))
              .build();
        }
      }
    }
    return getListPromptsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.InspectPromptRequest,
      antiphon.gen.InspectPromptResponse> getInspectPromptMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "InspectPrompt",
      requestType = antiphon.gen.InspectPromptRequest.class,
      responseType = antiphon.gen.InspectPromptResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.InspectPromptRequest,
      antiphon.gen.InspectPromptResponse> getInspectPromptMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.InspectPromptRequest, antiphon.gen.InspectPromptResponse> getInspectPromptMethod;
    if ((getInspectPromptMethod = CatalogServiceGrpc.getInspectPromptMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getInspectPromptMethod = CatalogServiceGrpc.getInspectPromptMethod) == null) {
          CatalogServiceGrpc.getInspectPromptMethod = getInspectPromptMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.InspectPromptRequest, antiphon.gen.InspectPromptResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "InspectPrompt"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectPromptRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectPromptResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("InspectPrompt"))
              .build();
        }
      }
    }
    return getInspectPromptMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListProfilesRequest,
      antiphon.gen.ListProfilesResponse> getListProfilesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListProfiles",
      requestType = antiphon.gen.ListProfilesRequest.class,
      responseType = antiphon.gen.ListProfilesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListProfilesRequest,
      antiphon.gen.ListProfilesResponse> getListProfilesMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListProfilesRequest, antiphon.gen.ListProfilesResponse> getListProfilesMethod;
    if ((getListProfilesMethod = CatalogServiceGrpc.getListProfilesMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListProfilesMethod = CatalogServiceGrpc.getListProfilesMethod) == null) {
          CatalogServiceGrpc.getListProfilesMethod = getListProfilesMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListProfilesRequest, antiphon.gen.ListProfilesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListProfiles"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListProfilesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListProfilesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListProfiles"))
              .build();
        }
      }
    }
    return getListProfilesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.InspectProfileRequest,
      antiphon.gen.InspectProfileResponse> getInspectProfileMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "InspectProfile",
      requestType = antiphon.gen.InspectProfileRequest.class,
      responseType = antiphon.gen.InspectProfileResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.InspectProfileRequest,
      antiphon.gen.InspectProfileResponse> getInspectProfileMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.InspectProfileRequest, antiphon.gen.InspectProfileResponse> getInspectProfileMethod;
    if ((getInspectProfileMethod = CatalogServiceGrpc.getInspectProfileMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getInspectProfileMethod = CatalogServiceGrpc.getInspectProfileMethod) == null) {
          CatalogServiceGrpc.getInspectProfileMethod = getInspectProfileMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.InspectProfileRequest, antiphon.gen.InspectProfileResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "InspectProfile"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectProfileRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectProfileResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("InspectProfile"))
              .build();
        }
      }
    }
    return getInspectProfileMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListBackendsRequest,
      antiphon.gen.ListBackendsResponse> getListBackendsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListBackends",
      requestType = antiphon.gen.ListBackendsRequest.class,
      responseType = antiphon.gen.ListBackendsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListBackendsRequest,
      antiphon.gen.ListBackendsResponse> getListBackendsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListBackendsRequest, antiphon.gen.ListBackendsResponse> getListBackendsMethod;
    if ((getListBackendsMethod = CatalogServiceGrpc.getListBackendsMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListBackendsMethod = CatalogServiceGrpc.getListBackendsMethod) == null) {
          CatalogServiceGrpc.getListBackendsMethod = getListBackendsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListBackendsRequest, antiphon.gen.ListBackendsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListBackends"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListBackendsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListBackendsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListBackends"))
              .build();
        }
      }
    }
    return getListBackendsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.InspectBackendRequest,
      antiphon.gen.InspectBackendResponse> getInspectBackendMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "InspectBackend",
      requestType = antiphon.gen.InspectBackendRequest.class,
      responseType = antiphon.gen.InspectBackendResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.InspectBackendRequest,
      antiphon.gen.InspectBackendResponse> getInspectBackendMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.InspectBackendRequest, antiphon.gen.InspectBackendResponse> getInspectBackendMethod;
    if ((getInspectBackendMethod = CatalogServiceGrpc.getInspectBackendMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getInspectBackendMethod = CatalogServiceGrpc.getInspectBackendMethod) == null) {
          CatalogServiceGrpc.getInspectBackendMethod = getInspectBackendMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.InspectBackendRequest, antiphon.gen.InspectBackendResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "InspectBackend"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectBackendRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectBackendResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("InspectBackend"))
              .build();
        }
      }
    }
    return getInspectBackendMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListContractsRequest,
      antiphon.gen.ListContractsResponse> getListContractsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListContracts",
      requestType = antiphon.gen.ListContractsRequest.class,
      responseType = antiphon.gen.ListContractsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListContractsRequest,
      antiphon.gen.ListContractsResponse> getListContractsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListContractsRequest, antiphon.gen.ListContractsResponse> getListContractsMethod;
    if ((getListContractsMethod = CatalogServiceGrpc.getListContractsMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListContractsMethod = CatalogServiceGrpc.getListContractsMethod) == null) {
          CatalogServiceGrpc.getListContractsMethod = getListContractsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListContractsRequest, antiphon.gen.ListContractsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListContracts"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListContractsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListContractsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListContracts"))
              .build();
        }
      }
    }
    return getListContractsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.InspectContractRequest,
      antiphon.gen.InspectContractResponse> getInspectContractMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "InspectContract",
      requestType = antiphon.gen.InspectContractRequest.class,
      responseType = antiphon.gen.InspectContractResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.InspectContractRequest,
      antiphon.gen.InspectContractResponse> getInspectContractMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.InspectContractRequest, antiphon.gen.InspectContractResponse> getInspectContractMethod;
    if ((getInspectContractMethod = CatalogServiceGrpc.getInspectContractMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getInspectContractMethod = CatalogServiceGrpc.getInspectContractMethod) == null) {
          CatalogServiceGrpc.getInspectContractMethod = getInspectContractMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.InspectContractRequest, antiphon.gen.InspectContractResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "InspectContract"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectContractRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.InspectContractResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("InspectContract"))
              .build();
        }
      }
    }
    return getInspectContractMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CatalogServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub>() {
        @java.lang.Override
        public CatalogServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceStub(channel, callOptions);
        }
      };
    return CatalogServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static CatalogServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingV2Stub>() {
        @java.lang.Override
        public CatalogServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return CatalogServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CatalogServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub>() {
        @java.lang.Override
        public CatalogServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceBlockingStub(channel, callOptions);
        }
      };
    return CatalogServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CatalogServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub>() {
        @java.lang.Override
        public CatalogServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceFutureStub(channel, callOptions);
        }
      };
    return CatalogServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Tells what is configured.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Lists prompts by id.
     * </pre>
     */
    default void listPrompts(antiphon.gen.ListPromptsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListPromptsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListPromptsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one prompt.
     * </pre>
     */
    default void inspectPrompt(antiphon.gen.InspectPromptRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectPromptResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getInspectPromptMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists profiles by id.
     * </pre>
     */
    default void listProfiles(antiphon.gen.ListProfilesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListProfilesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListProfilesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one profile.
     * </pre>
     */
    default void inspectProfile(antiphon.gen.InspectProfileRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectProfileResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getInspectProfileMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists backends by id.
     * </pre>
     */
    default void listBackends(antiphon.gen.ListBackendsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListBackendsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListBackendsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one backend.
     * </pre>
     */
    default void inspectBackend(antiphon.gen.InspectBackendRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectBackendResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getInspectBackendMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists contracts by id.
     * </pre>
     */
    default void listContracts(antiphon.gen.ListContractsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListContractsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListContractsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one contract.
     * </pre>
     */
    default void inspectContract(antiphon.gen.InspectContractRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectContractResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getInspectContractMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CatalogService.
   * <pre>
   * Tells what is configured.
   * </pre>
   */
  public static abstract class CatalogServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CatalogServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CatalogService.
   * <pre>
   * Tells what is configured.
   * </pre>
   */
  public static final class CatalogServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CatalogServiceStub> {
    private CatalogServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists prompts by id.
     * </pre>
     */
    public void listPrompts(antiphon.gen.ListPromptsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListPromptsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListPromptsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one prompt.
     * </pre>
     */
    public void inspectPrompt(antiphon.gen.InspectPromptRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectPromptResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getInspectPromptMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists profiles by id.
     * </pre>
     */
    public void listProfiles(antiphon.gen.ListProfilesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListProfilesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListProfilesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one profile.
     * </pre>
     */
    public void inspectProfile(antiphon.gen.InspectProfileRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectProfileResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getInspectProfileMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists backends by id.
     * </pre>
     */
    public void listBackends(antiphon.gen.ListBackendsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListBackendsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListBackendsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one backend.
     * </pre>
     */
    public void inspectBackend(antiphon.gen.InspectBackendRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectBackendResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getInspectBackendMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists contracts by id.
     * </pre>
     */
    public void listContracts(antiphon.gen.ListContractsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListContractsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListContractsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one contract.
     * </pre>
     */
    public void inspectContract(antiphon.gen.InspectContractRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.InspectContractResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getInspectContractMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CatalogService.
   * <pre>
   * Tells what is configured.
   * </pre>
   */
  public static final class CatalogServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<CatalogServiceBlockingV2Stub> {
    private CatalogServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists prompts by id.
     * </pre>
     */
    public antiphon.gen.ListPromptsResponse listPrompts(antiphon.gen.ListPromptsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListPromptsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one prompt.
     * </pre>
     */
    public antiphon.gen.InspectPromptResponse inspectPrompt(antiphon.gen.InspectPromptRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getInspectPromptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists profiles by id.
     * </pre>
     */
    public antiphon.gen.ListProfilesResponse listProfiles(antiphon.gen.ListProfilesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListProfilesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one profile.
     * </pre>
     */
    public antiphon.gen.InspectProfileResponse inspectProfile(antiphon.gen.InspectProfileRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getInspectProfileMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists backends by id.
     * </pre>
     */
    public antiphon.gen.ListBackendsResponse listBackends(antiphon.gen.ListBackendsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListBackendsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one backend.
     * </pre>
     */
    public antiphon.gen.InspectBackendResponse inspectBackend(antiphon.gen.InspectBackendRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getInspectBackendMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists contracts by id.
     * </pre>
     */
    public antiphon.gen.ListContractsResponse listContracts(antiphon.gen.ListContractsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListContractsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one contract.
     * </pre>
     */
    public antiphon.gen.InspectContractResponse inspectContract(antiphon.gen.InspectContractRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getInspectContractMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service CatalogService.
   * <pre>
   * Tells what is configured.
   * </pre>
   */
  public static final class CatalogServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CatalogServiceBlockingStub> {
    private CatalogServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists prompts by id.
     * </pre>
     */
    public antiphon.gen.ListPromptsResponse listPrompts(antiphon.gen.ListPromptsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListPromptsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one prompt.
     * </pre>
     */
    public antiphon.gen.InspectPromptResponse inspectPrompt(antiphon.gen.InspectPromptRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getInspectPromptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists profiles by id.
     * </pre>
     */
    public antiphon.gen.ListProfilesResponse listProfiles(antiphon.gen.ListProfilesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListProfilesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one profile.
     * </pre>
     */
    public antiphon.gen.InspectProfileResponse inspectProfile(antiphon.gen.InspectProfileRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getInspectProfileMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists backends by id.
     * </pre>
     */
    public antiphon.gen.ListBackendsResponse listBackends(antiphon.gen.ListBackendsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListBackendsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one backend.
     * </pre>
     */
    public antiphon.gen.InspectBackendResponse inspectBackend(antiphon.gen.InspectBackendRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getInspectBackendMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists contracts by id.
     * </pre>
     */
    public antiphon.gen.ListContractsResponse listContracts(antiphon.gen.ListContractsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListContractsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one contract.
     * </pre>
     */
    public antiphon.gen.InspectContractResponse inspectContract(antiphon.gen.InspectContractRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getInspectContractMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CatalogService.
   * <pre>
   * Tells what is configured.
   * </pre>
   */
  public static final class CatalogServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CatalogServiceFutureStub> {
    private CatalogServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists prompts by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListPromptsResponse> listPrompts(
        antiphon.gen.ListPromptsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListPromptsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one prompt.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.InspectPromptResponse> inspectPrompt(
        antiphon.gen.InspectPromptRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getInspectPromptMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists profiles by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListProfilesResponse> listProfiles(
        antiphon.gen.ListProfilesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListProfilesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one profile.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.InspectProfileResponse> inspectProfile(
        antiphon.gen.InspectProfileRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getInspectProfileMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists backends by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListBackendsResponse> listBackends(
        antiphon.gen.ListBackendsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListBackendsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one backend.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.InspectBackendResponse> inspectBackend(
        antiphon.gen.InspectBackendRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getInspectBackendMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists contracts by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListContractsResponse> listContracts(
        antiphon.gen.ListContractsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListContractsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one contract.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.InspectContractResponse> inspectContract(
        antiphon.gen.InspectContractRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getInspectContractMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_PROMPTS = 0;
  private static final int METHODID_INSPECT_PROMPT = 1;
  private static final int METHODID_LIST_PROFILES = 2;
  private static final int METHODID_INSPECT_PROFILE = 3;
  private static final int METHODID_LIST_BACKENDS = 4;
  private static final int METHODID_INSPECT_BACKEND = 5;
  private static final int METHODID_LIST_CONTRACTS = 6;
  private static final int METHODID_INSPECT_CONTRACT = 7;

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
        case METHODID_LIST_PROMPTS:
          serviceImpl.listPrompts((antiphon.gen.ListPromptsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListPromptsResponse>) responseObserver);
          break;
        case METHODID_INSPECT_PROMPT:
          serviceImpl.inspectPrompt((antiphon.gen.InspectPromptRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.InspectPromptResponse>) responseObserver);
          break;
        case METHODID_LIST_PROFILES:
          serviceImpl.listProfiles((antiphon.gen.ListProfilesRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListProfilesResponse>) responseObserver);
          break;
        case METHODID_INSPECT_PROFILE:
          serviceImpl.inspectProfile((antiphon.gen.InspectProfileRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.InspectProfileResponse>) responseObserver);
          break;
        case METHODID_LIST_BACKENDS:
          serviceImpl.listBackends((antiphon.gen.ListBackendsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListBackendsResponse>) responseObserver);
          break;
        case METHODID_INSPECT_BACKEND:
          serviceImpl.inspectBackend((antiphon.gen.InspectBackendRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.InspectBackendResponse>) responseObserver);
          break;
        case METHODID_LIST_CONTRACTS:
          serviceImpl.listContracts((antiphon.gen.ListContractsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListContractsResponse>) responseObserver);
          break;
        case METHODID_INSPECT_CONTRACT:
          serviceImpl.inspectContract((antiphon.gen.InspectContractRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.InspectContractResponse>) responseObserver);
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
          getListPromptsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListPromptsRequest,
              antiphon.gen.ListPromptsResponse>(
                service, METHODID_LIST_PROMPTS)))
        .addMethod(
          getInspectPromptMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.InspectPromptRequest,
              antiphon.gen.InspectPromptResponse>(
                service, METHODID_INSPECT_PROMPT)))
        .addMethod(
          getListProfilesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListProfilesRequest,
              antiphon.gen.ListProfilesResponse>(
                service, METHODID_LIST_PROFILES)))
        .addMethod(
          getInspectProfileMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.InspectProfileRequest,
              antiphon.gen.InspectProfileResponse>(
                service, METHODID_INSPECT_PROFILE)))
        .addMethod(
          getListBackendsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListBackendsRequest,
              antiphon.gen.ListBackendsResponse>(
                service, METHODID_LIST_BACKENDS)))
        .addMethod(
          getInspectBackendMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.InspectBackendRequest,
              antiphon.gen.InspectBackendResponse>(
                service, METHODID_INSPECT_BACKEND)))
        .addMethod(
          getListContractsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListContractsRequest,
              antiphon.gen.ListContractsResponse>(
                service, METHODID_LIST_CONTRACTS)))
        .addMethod(
          getInspectContractMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.InspectContractRequest,
              antiphon.gen.InspectContractResponse>(
                service, METHODID_INSPECT_CONTRACT)))
        .build();
  }

  private static abstract class CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CatalogServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.CatalogServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CatalogService");
    }
  }

  private static final class CatalogServiceFileDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier {
    CatalogServiceFileDescriptorSupplier() {}
  }

  private static final class CatalogServiceMethodDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CatalogServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CatalogServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CatalogServiceFileDescriptorSupplier())
              .addMethod(getListPromptsMethod())
              .addMethod(getInspectPromptMethod())
              .addMethod(getListProfilesMethod())
              .addMethod(getInspectProfileMethod())
              .addMethod(getListBackendsMethod())
              .addMethod(getInspectBackendMethod())
              .addMethod(getListContractsMethod())
              .addMethod(getInspectContractMethod())
              .build();
        }
      }
    }
    return result;
  }
}
