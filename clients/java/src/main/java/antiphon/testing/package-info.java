/** A real server for tests of your own. */
package antiphon.testing;
