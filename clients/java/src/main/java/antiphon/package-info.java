/**
 * Antiphon's client: conversations with language models as a durable, branching graph, driven by plain callbacks.
 *
 * <p>Begin with {@link antiphon.Client}. The README of this package shows the way.
 */
package antiphon;
