package antiphon.gen;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Looks after the server and the caller's namespace. Needs a credential with the scope `admin`, except for GetServerInfo.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class AdminServiceGrpc {

  private AdminServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "antiphon.v1.AdminService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<antiphon.gen.GetServerInfoRequest,
      antiphon.gen.GetServerInfoResponse> getGetServerInfoMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetServerInfo",
      requestType = antiphon.gen.GetServerInfoRequest.class,
      responseType = antiphon.gen.GetServerInfoResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.GetServerInfoRequest,
      antiphon.gen.GetServerInfoResponse> getGetServerInfoMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.GetServerInfoRequest, antiphon.gen.GetServerInfoResponse> getGetServerInfoMethod;
    if ((getGetServerInfoMethod = AdminServiceGrpc.getGetServerInfoMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getGetServerInfoMethod = AdminServiceGrpc.getGetServerInfoMethod) == null) {
          AdminServiceGrpc.getGetServerInfoMethod = getGetServerInfoMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.GetServerInfoRequest, antiphon.gen.GetServerInfoResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetServerInfo"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetServerInfoRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetServerInfoResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("GetServerInfo"))
              .build();
        }
      }
    }
    return getGetServerInfoMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.StatsRequest,
      antiphon.gen.StatsResponse> getStatsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Stats",
      requestType = antiphon.gen.StatsRequest.class,
      responseType = antiphon.gen.StatsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.StatsRequest,
      antiphon.gen.StatsResponse> getStatsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.StatsRequest, antiphon.gen.StatsResponse> getStatsMethod;
    if ((getStatsMethod = AdminServiceGrpc.getStatsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getStatsMethod = AdminServiceGrpc.getStatsMethod) == null) {
          AdminServiceGrpc.getStatsMethod = getStatsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.StatsRequest, antiphon.gen.StatsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Stats"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StatsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.StatsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Stats"))
              .build();
        }
      }
    }
    return getStatsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.VerifyRequest,
      antiphon.gen.VerifyResponse> getVerifyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Verify",
      requestType = antiphon.gen.VerifyRequest.class,
      responseType = antiphon.gen.VerifyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.VerifyRequest,
      antiphon.gen.VerifyResponse> getVerifyMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.VerifyRequest, antiphon.gen.VerifyResponse> getVerifyMethod;
    if ((getVerifyMethod = AdminServiceGrpc.getVerifyMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getVerifyMethod = AdminServiceGrpc.getVerifyMethod) == null) {
          AdminServiceGrpc.getVerifyMethod = getVerifyMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.VerifyRequest, antiphon.gen.VerifyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Verify"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.VerifyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.VerifyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Verify"))
              .build();
        }
      }
    }
    return getVerifyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ExportRequest,
      antiphon.gen.ExportResponse> getExportMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Export",
      requestType = antiphon.gen.ExportRequest.class,
      responseType = antiphon.gen.ExportResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.ExportRequest,
      antiphon.gen.ExportResponse> getExportMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ExportRequest, antiphon.gen.ExportResponse> getExportMethod;
    if ((getExportMethod = AdminServiceGrpc.getExportMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getExportMethod = AdminServiceGrpc.getExportMethod) == null) {
          AdminServiceGrpc.getExportMethod = getExportMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ExportRequest, antiphon.gen.ExportResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Export"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ExportRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ExportResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Export"))
              .build();
        }
      }
    }
    return getExportMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ImportRequest,
      antiphon.gen.ImportResponse> getImportMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Import",
      requestType = antiphon.gen.ImportRequest.class,
      responseType = antiphon.gen.ImportResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.ImportRequest,
      antiphon.gen.ImportResponse> getImportMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ImportRequest, antiphon.gen.ImportResponse> getImportMethod;
    if ((getImportMethod = AdminServiceGrpc.getImportMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getImportMethod = AdminServiceGrpc.getImportMethod) == null) {
          AdminServiceGrpc.getImportMethod = getImportMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ImportRequest, antiphon.gen.ImportResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Import"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ImportRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ImportResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Import"))
              .build();
        }
      }
    }
    return getImportMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.BackupRequest,
      antiphon.gen.BackupResponse> getBackupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Backup",
      requestType = antiphon.gen.BackupRequest.class,
      responseType = antiphon.gen.BackupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.BackupRequest,
      antiphon.gen.BackupResponse> getBackupMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.BackupRequest, antiphon.gen.BackupResponse> getBackupMethod;
    if ((getBackupMethod = AdminServiceGrpc.getBackupMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getBackupMethod = AdminServiceGrpc.getBackupMethod) == null) {
          AdminServiceGrpc.getBackupMethod = getBackupMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.BackupRequest, antiphon.gen.BackupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Backup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.BackupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.BackupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Backup"))
              .build();
        }
      }
    }
    return getBackupMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.EraseRequest,
      antiphon.gen.EraseResponse> getEraseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Erase",
      requestType = antiphon.gen.EraseRequest.class,
      responseType = antiphon.gen.EraseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.EraseRequest,
      antiphon.gen.EraseResponse> getEraseMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.EraseRequest, antiphon.gen.EraseResponse> getEraseMethod;
    if ((getEraseMethod = AdminServiceGrpc.getEraseMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getEraseMethod = AdminServiceGrpc.getEraseMethod) == null) {
          AdminServiceGrpc.getEraseMethod = getEraseMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.EraseRequest, antiphon.gen.EraseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Erase"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.EraseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.EraseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Erase"))
              .build();
        }
      }
    }
    return getEraseMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.GetEraseReceiptRequest,
      antiphon.gen.GetEraseReceiptResponse> getGetEraseReceiptMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetEraseReceipt",
      requestType = antiphon.gen.GetEraseReceiptRequest.class,
      responseType = antiphon.gen.GetEraseReceiptResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.GetEraseReceiptRequest,
      antiphon.gen.GetEraseReceiptResponse> getGetEraseReceiptMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.GetEraseReceiptRequest, antiphon.gen.GetEraseReceiptResponse> getGetEraseReceiptMethod;
    if ((getGetEraseReceiptMethod = AdminServiceGrpc.getGetEraseReceiptMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getGetEraseReceiptMethod = AdminServiceGrpc.getGetEraseReceiptMethod) == null) {
          AdminServiceGrpc.getGetEraseReceiptMethod = getGetEraseReceiptMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.GetEraseReceiptRequest, antiphon.gen.GetEraseReceiptResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetEraseReceipt"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetEraseReceiptRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.GetEraseReceiptResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("GetEraseReceipt"))
              .build();
        }
      }
    }
    return getGetEraseReceiptMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.CreatePinRequest,
      antiphon.gen.CreatePinResponse> getCreatePinMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreatePin",
      requestType = antiphon.gen.CreatePinRequest.class,
      responseType = antiphon.gen.CreatePinResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.CreatePinRequest,
      antiphon.gen.CreatePinResponse> getCreatePinMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.CreatePinRequest, antiphon.gen.CreatePinResponse> getCreatePinMethod;
    if ((getCreatePinMethod = AdminServiceGrpc.getCreatePinMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getCreatePinMethod = AdminServiceGrpc.getCreatePinMethod) == null) {
          AdminServiceGrpc.getCreatePinMethod = getCreatePinMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.CreatePinRequest, antiphon.gen.CreatePinResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreatePin"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CreatePinRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CreatePinResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("CreatePin"))
              .build();
        }
      }
    }
    return getCreatePinMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.DeletePinRequest,
      antiphon.gen.DeletePinResponse> getDeletePinMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeletePin",
      requestType = antiphon.gen.DeletePinRequest.class,
      responseType = antiphon.gen.DeletePinResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.DeletePinRequest,
      antiphon.gen.DeletePinResponse> getDeletePinMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.DeletePinRequest, antiphon.gen.DeletePinResponse> getDeletePinMethod;
    if ((getDeletePinMethod = AdminServiceGrpc.getDeletePinMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getDeletePinMethod = AdminServiceGrpc.getDeletePinMethod) == null) {
          AdminServiceGrpc.getDeletePinMethod = getDeletePinMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.DeletePinRequest, antiphon.gen.DeletePinResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeletePin"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.DeletePinRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.DeletePinResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("DeletePin"))
              .build();
        }
      }
    }
    return getDeletePinMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListPinsRequest,
      antiphon.gen.ListPinsResponse> getListPinsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListPins",
      requestType = antiphon.gen.ListPinsRequest.class,
      responseType = antiphon.gen.ListPinsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListPinsRequest,
      antiphon.gen.ListPinsResponse> getListPinsMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListPinsRequest, antiphon.gen.ListPinsResponse> getListPinsMethod;
    if ((getListPinsMethod = AdminServiceGrpc.getListPinsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListPinsMethod = AdminServiceGrpc.getListPinsMethod) == null) {
          AdminServiceGrpc.getListPinsMethod = getListPinsMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListPinsRequest, antiphon.gen.ListPinsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListPins"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListPinsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListPinsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListPins"))
              .build();
        }
      }
    }
    return getListPinsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.SetExpiryRequest,
      antiphon.gen.SetExpiryResponse> getSetExpiryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetExpiry",
      requestType = antiphon.gen.SetExpiryRequest.class,
      responseType = antiphon.gen.SetExpiryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.SetExpiryRequest,
      antiphon.gen.SetExpiryResponse> getSetExpiryMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.SetExpiryRequest, antiphon.gen.SetExpiryResponse> getSetExpiryMethod;
    if ((getSetExpiryMethod = AdminServiceGrpc.getSetExpiryMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getSetExpiryMethod = AdminServiceGrpc.getSetExpiryMethod) == null) {
          AdminServiceGrpc.getSetExpiryMethod = getSetExpiryMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.SetExpiryRequest, antiphon.gen.SetExpiryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetExpiry"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.SetExpiryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.SetExpiryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("SetExpiry"))
              .build();
        }
      }
    }
    return getSetExpiryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ListExpiriesRequest,
      antiphon.gen.ListExpiriesResponse> getListExpiriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListExpiries",
      requestType = antiphon.gen.ListExpiriesRequest.class,
      responseType = antiphon.gen.ListExpiriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ListExpiriesRequest,
      antiphon.gen.ListExpiriesResponse> getListExpiriesMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ListExpiriesRequest, antiphon.gen.ListExpiriesResponse> getListExpiriesMethod;
    if ((getListExpiriesMethod = AdminServiceGrpc.getListExpiriesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListExpiriesMethod = AdminServiceGrpc.getListExpiriesMethod) == null) {
          AdminServiceGrpc.getListExpiriesMethod = getListExpiriesMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ListExpiriesRequest, antiphon.gen.ListExpiriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListExpiries"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListExpiriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ListExpiriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListExpiries"))
              .build();
        }
      }
    }
    return getListExpiriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.CollectGarbageRequest,
      antiphon.gen.CollectGarbageResponse> getCollectGarbageMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CollectGarbage",
      requestType = antiphon.gen.CollectGarbageRequest.class,
      responseType = antiphon.gen.CollectGarbageResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<antiphon.gen.CollectGarbageRequest,
      antiphon.gen.CollectGarbageResponse> getCollectGarbageMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.CollectGarbageRequest, antiphon.gen.CollectGarbageResponse> getCollectGarbageMethod;
    if ((getCollectGarbageMethod = AdminServiceGrpc.getCollectGarbageMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getCollectGarbageMethod = AdminServiceGrpc.getCollectGarbageMethod) == null) {
          AdminServiceGrpc.getCollectGarbageMethod = getCollectGarbageMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.CollectGarbageRequest, antiphon.gen.CollectGarbageResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CollectGarbage"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CollectGarbageRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.CollectGarbageResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("CollectGarbage"))
              .build();
        }
      }
    }
    return getCollectGarbageMethod;
  }

  private static volatile io.grpc.MethodDescriptor<antiphon.gen.ReloadRequest,
      antiphon.gen.ReloadResponse> getReloadMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Reload",
      requestType = antiphon.gen.ReloadRequest.class,
      responseType = antiphon.gen.ReloadResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<antiphon.gen.ReloadRequest,
      antiphon.gen.ReloadResponse> getReloadMethod() {
    io.grpc.MethodDescriptor<antiphon.gen.ReloadRequest, antiphon.gen.ReloadResponse> getReloadMethod;
    if ((getReloadMethod = AdminServiceGrpc.getReloadMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getReloadMethod = AdminServiceGrpc.getReloadMethod) == null) {
          AdminServiceGrpc.getReloadMethod = getReloadMethod =
              io.grpc.MethodDescriptor.<antiphon.gen.ReloadRequest, antiphon.gen.ReloadResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Reload"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ReloadRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  antiphon.gen.ReloadResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Reload"))
              .build();
        }
      }
    }
    return getReloadMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static AdminServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceStub>() {
        @java.lang.Override
        public AdminServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceStub(channel, callOptions);
        }
      };
    return AdminServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static AdminServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingV2Stub>() {
        @java.lang.Override
        public AdminServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return AdminServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static AdminServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingStub>() {
        @java.lang.Override
        public AdminServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceBlockingStub(channel, callOptions);
        }
      };
    return AdminServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static AdminServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceFutureStub>() {
        @java.lang.Override
        public AdminServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceFutureStub(channel, callOptions);
        }
      };
    return AdminServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Looks after the server and the caller's namespace. Needs a credential with the scope `admin`, except for GetServerInfo.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * What the server is and how it is.
     * </pre>
     */
    default void getServerInfo(antiphon.gen.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetServerInfoMethod(), responseObserver);
    }

    /**
     * <pre>
     * What the namespace holds.
     * </pre>
     */
    default void stats(antiphon.gen.StatsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StatsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStatsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Checks every record and every reference between them. The last event is `completed`.
     * </pre>
     */
    default void verify(antiphon.gen.VerifyRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.VerifyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getVerifyMethod(), responseObserver);
    }

    /**
     * <pre>
     * Writes exchanges with all they depend on as newline JSON. The last event is `completed`.
     * </pre>
     */
    default void export(antiphon.gen.ExportRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ExportResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExportMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads what Export or Backup wrote, or transcripts; verified, and what is there already stays as it is. The last event is `completed`.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<antiphon.gen.ImportRequest> import_(
        io.grpc.stub.StreamObserver<antiphon.gen.ImportResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getImportMethod(), responseObserver);
    }

    /**
     * <pre>
     * A consistent export of everything, while the server goes on. The last event is `completed`.
     * </pre>
     */
    default void backup(antiphon.gen.BackupRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.BackupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBackupMethod(), responseObserver);
    }

    /**
     * <pre>
     * Erases content for good.
     * </pre>
     */
    default void erase(antiphon.gen.EraseRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.EraseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEraseMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the receipt of an erasure.
     * </pre>
     */
    default void getEraseReceipt(antiphon.gen.GetEraseReceiptRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetEraseReceiptResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetEraseReceiptMethod(), responseObserver);
    }

    /**
     * <pre>
     * Keeps something from expiry and garbage collection.
     * </pre>
     */
    default void createPin(antiphon.gen.CreatePinRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CreatePinResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreatePinMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes a pin away.
     * </pre>
     */
    default void deletePin(antiphon.gen.DeletePinRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.DeletePinResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeletePinMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists pins by id.
     * </pre>
     */
    default void listPins(antiphon.gen.ListPinsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListPinsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListPinsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets when something is left to garbage collection, or that it never is.
     * </pre>
     */
    default void setExpiry(antiphon.gen.SetExpiryRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.SetExpiryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetExpiryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists what expires, soonest first.
     * </pre>
     */
    default void listExpiries(antiphon.gen.ListExpiriesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListExpiriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListExpiriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes what expired and what nothing refers to, while the server goes on. The last event is `completed`.
     * </pre>
     */
    default void collectGarbage(antiphon.gen.CollectGarbageRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CollectGarbageResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCollectGarbageMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the configuration again, all or nothing.
     * </pre>
     */
    default void reload(antiphon.gen.ReloadRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ReloadResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReloadMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service AdminService.
   * <pre>
   * Looks after the server and the caller's namespace. Needs a credential with the scope `admin`, except for GetServerInfo.
   * </pre>
   */
  public static abstract class AdminServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return AdminServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service AdminService.
   * <pre>
   * Looks after the server and the caller's namespace. Needs a credential with the scope `admin`, except for GetServerInfo.
   * </pre>
   */
  public static final class AdminServiceStub
      extends io.grpc.stub.AbstractAsyncStub<AdminServiceStub> {
    private AdminServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * What the server is and how it is.
     * </pre>
     */
    public void getServerInfo(antiphon.gen.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * What the namespace holds.
     * </pre>
     */
    public void stats(antiphon.gen.StatsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.StatsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStatsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Checks every record and every reference between them. The last event is `completed`.
     * </pre>
     */
    public void verify(antiphon.gen.VerifyRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.VerifyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getVerifyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Writes exchanges with all they depend on as newline JSON. The last event is `completed`.
     * </pre>
     */
    public void export(antiphon.gen.ExportRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ExportResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getExportMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads what Export or Backup wrote, or transcripts; verified, and what is there already stays as it is. The last event is `completed`.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<antiphon.gen.ImportRequest> import_(
        io.grpc.stub.StreamObserver<antiphon.gen.ImportResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getImportMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * A consistent export of everything, while the server goes on. The last event is `completed`.
     * </pre>
     */
    public void backup(antiphon.gen.BackupRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.BackupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getBackupMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Erases content for good.
     * </pre>
     */
    public void erase(antiphon.gen.EraseRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.EraseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEraseMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the receipt of an erasure.
     * </pre>
     */
    public void getEraseReceipt(antiphon.gen.GetEraseReceiptRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.GetEraseReceiptResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetEraseReceiptMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Keeps something from expiry and garbage collection.
     * </pre>
     */
    public void createPin(antiphon.gen.CreatePinRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CreatePinResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreatePinMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes a pin away.
     * </pre>
     */
    public void deletePin(antiphon.gen.DeletePinRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.DeletePinResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeletePinMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists pins by id.
     * </pre>
     */
    public void listPins(antiphon.gen.ListPinsRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListPinsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListPinsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets when something is left to garbage collection, or that it never is.
     * </pre>
     */
    public void setExpiry(antiphon.gen.SetExpiryRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.SetExpiryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetExpiryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists what expires, soonest first.
     * </pre>
     */
    public void listExpiries(antiphon.gen.ListExpiriesRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ListExpiriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListExpiriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes what expired and what nothing refers to, while the server goes on. The last event is `completed`.
     * </pre>
     */
    public void collectGarbage(antiphon.gen.CollectGarbageRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.CollectGarbageResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getCollectGarbageMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the configuration again, all or nothing.
     * </pre>
     */
    public void reload(antiphon.gen.ReloadRequest request,
        io.grpc.stub.StreamObserver<antiphon.gen.ReloadResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReloadMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service AdminService.
   * <pre>
   * Looks after the server and the caller's namespace. Needs a credential with the scope `admin`, except for GetServerInfo.
   * </pre>
   */
  public static final class AdminServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<AdminServiceBlockingV2Stub> {
    private AdminServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * What the server is and how it is.
     * </pre>
     */
    public antiphon.gen.GetServerInfoResponse getServerInfo(antiphon.gen.GetServerInfoRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What the namespace holds.
     * </pre>
     */
    public antiphon.gen.StatsResponse stats(antiphon.gen.StatsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStatsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Checks every record and every reference between them. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.VerifyResponse>
        verify(antiphon.gen.VerifyRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getVerifyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Writes exchanges with all they depend on as newline JSON. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.ExportResponse>
        export(antiphon.gen.ExportRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getExportMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads what Export or Backup wrote, or transcripts; verified, and what is there already stays as it is. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<antiphon.gen.ImportRequest, antiphon.gen.ImportResponse>
        import_() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getImportMethod(), getCallOptions());
    }

    /**
     * <pre>
     * A consistent export of everything, while the server goes on. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.BackupResponse>
        backup(antiphon.gen.BackupRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getBackupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Erases content for good.
     * </pre>
     */
    public antiphon.gen.EraseResponse erase(antiphon.gen.EraseRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getEraseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the receipt of an erasure.
     * </pre>
     */
    public antiphon.gen.GetEraseReceiptResponse getEraseReceipt(antiphon.gen.GetEraseReceiptRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetEraseReceiptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Keeps something from expiry and garbage collection.
     * </pre>
     */
    public antiphon.gen.CreatePinResponse createPin(antiphon.gen.CreatePinRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreatePinMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes a pin away.
     * </pre>
     */
    public antiphon.gen.DeletePinResponse deletePin(antiphon.gen.DeletePinRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeletePinMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists pins by id.
     * </pre>
     */
    public antiphon.gen.ListPinsResponse listPins(antiphon.gen.ListPinsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListPinsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets when something is left to garbage collection, or that it never is.
     * </pre>
     */
    public antiphon.gen.SetExpiryResponse setExpiry(antiphon.gen.SetExpiryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetExpiryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists what expires, soonest first.
     * </pre>
     */
    public antiphon.gen.ListExpiriesResponse listExpiries(antiphon.gen.ListExpiriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListExpiriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes what expired and what nothing refers to, while the server goes on. The last event is `completed`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, antiphon.gen.CollectGarbageResponse>
        collectGarbage(antiphon.gen.CollectGarbageRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getCollectGarbageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the configuration again, all or nothing.
     * </pre>
     */
    public antiphon.gen.ReloadResponse reload(antiphon.gen.ReloadRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReloadMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service AdminService.
   * <pre>
   * Looks after the server and the caller's namespace. Needs a credential with the scope `admin`, except for GetServerInfo.
   * </pre>
   */
  public static final class AdminServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<AdminServiceBlockingStub> {
    private AdminServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * What the server is and how it is.
     * </pre>
     */
    public antiphon.gen.GetServerInfoResponse getServerInfo(antiphon.gen.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What the namespace holds.
     * </pre>
     */
    public antiphon.gen.StatsResponse stats(antiphon.gen.StatsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStatsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Checks every record and every reference between them. The last event is `completed`.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.VerifyResponse> verify(
        antiphon.gen.VerifyRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getVerifyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Writes exchanges with all they depend on as newline JSON. The last event is `completed`.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.ExportResponse> export(
        antiphon.gen.ExportRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getExportMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A consistent export of everything, while the server goes on. The last event is `completed`.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.BackupResponse> backup(
        antiphon.gen.BackupRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getBackupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Erases content for good.
     * </pre>
     */
    public antiphon.gen.EraseResponse erase(antiphon.gen.EraseRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEraseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the receipt of an erasure.
     * </pre>
     */
    public antiphon.gen.GetEraseReceiptResponse getEraseReceipt(antiphon.gen.GetEraseReceiptRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetEraseReceiptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Keeps something from expiry and garbage collection.
     * </pre>
     */
    public antiphon.gen.CreatePinResponse createPin(antiphon.gen.CreatePinRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreatePinMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes a pin away.
     * </pre>
     */
    public antiphon.gen.DeletePinResponse deletePin(antiphon.gen.DeletePinRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeletePinMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists pins by id.
     * </pre>
     */
    public antiphon.gen.ListPinsResponse listPins(antiphon.gen.ListPinsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListPinsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets when something is left to garbage collection, or that it never is.
     * </pre>
     */
    public antiphon.gen.SetExpiryResponse setExpiry(antiphon.gen.SetExpiryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetExpiryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists what expires, soonest first.
     * </pre>
     */
    public antiphon.gen.ListExpiriesResponse listExpiries(antiphon.gen.ListExpiriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListExpiriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes what expired and what nothing refers to, while the server goes on. The last event is `completed`.
     * </pre>
     */
    public java.util.Iterator<antiphon.gen.CollectGarbageResponse> collectGarbage(
        antiphon.gen.CollectGarbageRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getCollectGarbageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the configuration again, all or nothing.
     * </pre>
     */
    public antiphon.gen.ReloadResponse reload(antiphon.gen.ReloadRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReloadMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service AdminService.
   * <pre>
   * Looks after the server and the caller's namespace. Needs a credential with the scope `admin`, except for GetServerInfo.
   * </pre>
   */
  public static final class AdminServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<AdminServiceFutureStub> {
    private AdminServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * What the server is and how it is.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.GetServerInfoResponse> getServerInfo(
        antiphon.gen.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * What the namespace holds.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.StatsResponse> stats(
        antiphon.gen.StatsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStatsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Erases content for good.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.EraseResponse> erase(
        antiphon.gen.EraseRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEraseMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the receipt of an erasure.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.GetEraseReceiptResponse> getEraseReceipt(
        antiphon.gen.GetEraseReceiptRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetEraseReceiptMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Keeps something from expiry and garbage collection.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.CreatePinResponse> createPin(
        antiphon.gen.CreatePinRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreatePinMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes a pin away.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.DeletePinResponse> deletePin(
        antiphon.gen.DeletePinRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeletePinMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists pins by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListPinsResponse> listPins(
        antiphon.gen.ListPinsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListPinsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets when something is left to garbage collection, or that it never is.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.SetExpiryResponse> setExpiry(
        antiphon.gen.SetExpiryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetExpiryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists what expires, soonest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ListExpiriesResponse> listExpiries(
        antiphon.gen.ListExpiriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListExpiriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the configuration again, all or nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<antiphon.gen.ReloadResponse> reload(
        antiphon.gen.ReloadRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReloadMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_SERVER_INFO = 0;
  private static final int METHODID_STATS = 1;
  private static final int METHODID_VERIFY = 2;
  private static final int METHODID_EXPORT = 3;
  private static final int METHODID_BACKUP = 4;
  private static final int METHODID_ERASE = 5;
  private static final int METHODID_GET_ERASE_RECEIPT = 6;
  private static final int METHODID_CREATE_PIN = 7;
  private static final int METHODID_DELETE_PIN = 8;
  private static final int METHODID_LIST_PINS = 9;
  private static final int METHODID_SET_EXPIRY = 10;
  private static final int METHODID_LIST_EXPIRIES = 11;
  private static final int METHODID_COLLECT_GARBAGE = 12;
  private static final int METHODID_RELOAD = 13;
  private static final int METHODID_IMPORT = 14;

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
        case METHODID_GET_SERVER_INFO:
          serviceImpl.getServerInfo((antiphon.gen.GetServerInfoRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.GetServerInfoResponse>) responseObserver);
          break;
        case METHODID_STATS:
          serviceImpl.stats((antiphon.gen.StatsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.StatsResponse>) responseObserver);
          break;
        case METHODID_VERIFY:
          serviceImpl.verify((antiphon.gen.VerifyRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.VerifyResponse>) responseObserver);
          break;
        case METHODID_EXPORT:
          serviceImpl.export((antiphon.gen.ExportRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ExportResponse>) responseObserver);
          break;
        case METHODID_BACKUP:
          serviceImpl.backup((antiphon.gen.BackupRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.BackupResponse>) responseObserver);
          break;
        case METHODID_ERASE:
          serviceImpl.erase((antiphon.gen.EraseRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.EraseResponse>) responseObserver);
          break;
        case METHODID_GET_ERASE_RECEIPT:
          serviceImpl.getEraseReceipt((antiphon.gen.GetEraseReceiptRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.GetEraseReceiptResponse>) responseObserver);
          break;
        case METHODID_CREATE_PIN:
          serviceImpl.createPin((antiphon.gen.CreatePinRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.CreatePinResponse>) responseObserver);
          break;
        case METHODID_DELETE_PIN:
          serviceImpl.deletePin((antiphon.gen.DeletePinRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.DeletePinResponse>) responseObserver);
          break;
        case METHODID_LIST_PINS:
          serviceImpl.listPins((antiphon.gen.ListPinsRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListPinsResponse>) responseObserver);
          break;
        case METHODID_SET_EXPIRY:
          serviceImpl.setExpiry((antiphon.gen.SetExpiryRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.SetExpiryResponse>) responseObserver);
          break;
        case METHODID_LIST_EXPIRIES:
          serviceImpl.listExpiries((antiphon.gen.ListExpiriesRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ListExpiriesResponse>) responseObserver);
          break;
        case METHODID_COLLECT_GARBAGE:
          serviceImpl.collectGarbage((antiphon.gen.CollectGarbageRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.CollectGarbageResponse>) responseObserver);
          break;
        case METHODID_RELOAD:
          serviceImpl.reload((antiphon.gen.ReloadRequest) request,
              (io.grpc.stub.StreamObserver<antiphon.gen.ReloadResponse>) responseObserver);
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
        case METHODID_IMPORT:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.import_(
              (io.grpc.stub.StreamObserver<antiphon.gen.ImportResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGetServerInfoMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.GetServerInfoRequest,
              antiphon.gen.GetServerInfoResponse>(
                service, METHODID_GET_SERVER_INFO)))
        .addMethod(
          getStatsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.StatsRequest,
              antiphon.gen.StatsResponse>(
                service, METHODID_STATS)))
        .addMethod(
          getVerifyMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.VerifyRequest,
              antiphon.gen.VerifyResponse>(
                service, METHODID_VERIFY)))
        .addMethod(
          getExportMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.ExportRequest,
              antiphon.gen.ExportResponse>(
                service, METHODID_EXPORT)))
        .addMethod(
          getImportMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              antiphon.gen.ImportRequest,
              antiphon.gen.ImportResponse>(
                service, METHODID_IMPORT)))
        .addMethod(
          getBackupMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.BackupRequest,
              antiphon.gen.BackupResponse>(
                service, METHODID_BACKUP)))
        .addMethod(
          getEraseMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.EraseRequest,
              antiphon.gen.EraseResponse>(
                service, METHODID_ERASE)))
        .addMethod(
          getGetEraseReceiptMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.GetEraseReceiptRequest,
              antiphon.gen.GetEraseReceiptResponse>(
                service, METHODID_GET_ERASE_RECEIPT)))
        .addMethod(
          getCreatePinMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.CreatePinRequest,
              antiphon.gen.CreatePinResponse>(
                service, METHODID_CREATE_PIN)))
        .addMethod(
          getDeletePinMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.DeletePinRequest,
              antiphon.gen.DeletePinResponse>(
                service, METHODID_DELETE_PIN)))
        .addMethod(
          getListPinsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListPinsRequest,
              antiphon.gen.ListPinsResponse>(
                service, METHODID_LIST_PINS)))
        .addMethod(
          getSetExpiryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.SetExpiryRequest,
              antiphon.gen.SetExpiryResponse>(
                service, METHODID_SET_EXPIRY)))
        .addMethod(
          getListExpiriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ListExpiriesRequest,
              antiphon.gen.ListExpiriesResponse>(
                service, METHODID_LIST_EXPIRIES)))
        .addMethod(
          getCollectGarbageMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              antiphon.gen.CollectGarbageRequest,
              antiphon.gen.CollectGarbageResponse>(
                service, METHODID_COLLECT_GARBAGE)))
        .addMethod(
          getReloadMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              antiphon.gen.ReloadRequest,
              antiphon.gen.ReloadResponse>(
                service, METHODID_RELOAD)))
        .build();
  }

  private static abstract class AdminServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    AdminServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return antiphon.gen.AdminServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("AdminService");
    }
  }

  private static final class AdminServiceFileDescriptorSupplier
      extends AdminServiceBaseDescriptorSupplier {
    AdminServiceFileDescriptorSupplier() {}
  }

  private static final class AdminServiceMethodDescriptorSupplier
      extends AdminServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    AdminServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (AdminServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new AdminServiceFileDescriptorSupplier())
              .addMethod(getGetServerInfoMethod())
              .addMethod(getStatsMethod())
              .addMethod(getVerifyMethod())
              .addMethod(getExportMethod())
              .addMethod(getImportMethod())
              .addMethod(getBackupMethod())
              .addMethod(getEraseMethod())
              .addMethod(getGetEraseReceiptMethod())
              .addMethod(getCreatePinMethod())
              .addMethod(getDeletePinMethod())
              .addMethod(getListPinsMethod())
              .addMethod(getSetExpiryMethod())
              .addMethod(getListExpiriesMethod())
              .addMethod(getCollectGarbageMethod())
              .addMethod(getReloadMethod())
              .build();
        }
      }
    }
    return result;
  }
}
