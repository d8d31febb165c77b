/** How a connection is secured. Knows nothing of what goes over it. */

import { readFileSync } from "node:fs";
import type { SecureClientSessionOptions } from "node:http2";

/** How the connection is secured: with the system's authorities, unless `ca` names a file of others. With a certificate and its key the client
 * shows who it is. `serverName` is what the server's certificate must say, where that is not the address. */
export interface TLS {
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly serverName?: string;
}

/** Reads the files. */
export function sessionOptions(tls: TLS): SecureClientSessionOptions {
  return {
    ...(tls.ca === undefined ? {} : { ca: readFileSync(tls.ca) }),
    ...(tls.certificate === undefined ? {} : { cert: readFileSync(tls.certificate) }),
    ...(tls.key === undefined ? {} : { key: readFileSync(tls.key) }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  };
}
