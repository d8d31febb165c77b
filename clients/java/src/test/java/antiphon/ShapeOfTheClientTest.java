package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.gen.CoordinateResponse;
import antiphon.gen.Part;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the package promises of itself: twins of all calls, signatures without other libraries, and words of newer servers that survive. */
class ShapeOfTheClientTest {
    private static final Set<String> WITHOUT_TWIN = 
            Set.of("close", "raw", "async", "stream", "watch", "withProviderCredential", "withTimeout", "readStream");

    /** What twins give: futures, and what has twins itself. */
    private static final Set<Class<?>> LATER = Set.of(CompletableFuture.class, AsyncWorkspace.class, AsyncDocuments.class);

    private static Set<String> calls(Class<?> kind) {
        return Arrays.stream(kind.getMethods())
                .filter(method -> method.getDeclaringClass() != Object.class && !Modifier.isStatic(method.getModifiers()))
                .filter(method -> !WITHOUT_TWIN.contains(method.getName()))
                .map(method -> method.getName() + Arrays.toString(method.getParameterTypes()))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** S0-41: each call has a twin with the same parameters, whose future has what it gives. */
    @Test
    void eachCallHasATwin() {
        assertEquals(calls(Client.class), calls(AsyncClient.class));
        assertEquals(calls(Conversation.class), calls(AsyncConversation.class));
        assertEquals(calls(Documents.class), calls(AsyncDocuments.class));
        assertEquals(calls(Workspace.class), calls(AsyncWorkspace.class));
        for (Method twin : AsyncClient.class.getMethods()) {
            if (twin.getDeclaringClass() != Object.class) {
                assertTrue(LATER.contains(twin.getReturnType()), twin::toString);
            }
        }
    }

    @Test
    void signaturesHaveTypesOfThisPackageAndOfTheLanguageOnly() throws IOException, ClassNotFoundException {
        List<String> strange = new ArrayList<>();
        for (Class<?> kind : publicClasses()) {
            for (Method method : kind.getMethods()) {
                if (method.getName().equals("raw") || method.isBridge() || method.isSynthetic()) {
                    continue;
                }
                String said = method.toGenericString();
                if (said.matches(".*(antiphon\\.gen|com\\.google|io\\.grpc)\\..*")) {
                    strange.add(said);
                }
            }
        }
        assertEquals(List.of(), strange);
    }

    private static List<Class<?>> publicClasses() throws IOException, ClassNotFoundException {
        Path classes = Path.of("target/classes/antiphon");
        List<Class<?>> found = new ArrayList<>();
        try (Stream<Path> files = Files.list(classes)) {
            for (String name : files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".class")).sorted().toList()) {
                Class<?> kind = Class.forName("antiphon." + name.substring(0, name.length() - ".class".length()));
                if (Modifier.isPublic(kind.getModifiers())) {
                    found.add(kind);
                }
            }
        }
        assertTrue(found.size() > 40, () -> "only " + found);
        return found;
    }

    @Test
    void wordsThatANewerServerHasSurvive() {
        Run run = new Run(antiphon.gen.Run.newBuilder().setStateValue(77).build());
        assertEquals("unknown_77", run.state());
        Message message = Message.of("unknown_79", "x");
        assertEquals(79, message.raw().getRoleValue());
        assertEquals("unknown_79", message.role());
    }

    /** A part, and a frame, of a kind that this package does not know comes and goes out again as it is. */
    @Test
    void armsOfANewerServerSurvive() throws InvalidProtocolBufferException {
        UnknownFieldSet.Field said =
                UnknownFieldSet.Field.newBuilder().addLengthDelimited(ByteString.copyFromUtf8("new")).build();
        Part strange = Part.newBuilder().setUnknownFields(UnknownFieldSet.newBuilder().addField(99, said).build()).build();
        antiphon.gen.Message raw =
                antiphon.gen.Message.newBuilder().setRoleValue(2).addParts(strange).addParts(Message.textPart("text")).build();
        Message message = new Message(antiphon.gen.Message.parseFrom(raw.toByteString()));
        assertEquals("text", message.text());
        assertEquals(raw, Request.of("").messages(message).toRaw().getMessages(0));
        CoordinateResponse frame = CoordinateResponse.parseFrom(
                CoordinateResponse.newBuilder().setUnknownFields(strange.getUnknownFields()).build().toByteString());
        assertEquals(CoordinateResponse.FrameCase.FRAME_NOT_SET, frame.getFrameCase());
        assertEquals(said, frame.getUnknownFields().getField(99));
    }
}
