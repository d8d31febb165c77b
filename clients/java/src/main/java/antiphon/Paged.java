package antiphon;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** What lists, page after page: the next one is asked for when somebody wants more. Knows nothing of what is listed. */
final class Paged<A, T> implements Iterator<T> {
    private final Function<String, A> read;
    private final Function<A, String> next;
    private final Function<A, List<T>> items;
    private Iterator<T> page = List.<T>of().iterator();
    // Null after the last.
    private String token = "";

    Paged(Function<String, A> read, Function<A, String> next, Function<A, List<T>> items) {
        this.read = read;
        this.next = next;
        this.items = items;
    }

    @Override
    public boolean hasNext() {
        while (!page.hasNext() && token != null) {
            A found = read.apply(token);
            page = items.apply(found).iterator();
            token = next.apply(found).isEmpty() ? null : next.apply(found);
        }
        return page.hasNext();
    }

    @Override
    public T next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return page.next();
    }

    Stream<T> stream() {
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(this, Spliterator.ORDERED | Spliterator.NONNULL), false);
    }
}
