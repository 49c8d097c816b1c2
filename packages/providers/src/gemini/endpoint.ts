import type { JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import type { HeaderOptions } from '../wire/api-options.ts';

/** One of Google's two APIs for the same models. */
export interface GoogleEndpoint extends StateOwner {
  /**
   * The URL of the model. Throws a `WireFault` if the name of the model or project would lead to
   * another path.
   */
  readonly url: () => string;
  /** The query of the base URL. */
  readonly query: string;
  /** The header with the key. A caller that sets it needs no key. */
  readonly keyHeader: string;
  /** Throws a `WireFault` if there is none. */
  readonly key?: (() => string) | undefined;
  /** See `Wire.authorize`. Tokens expire, so they are read for each request. */
  readonly authorize?: ((request: HttpRequest) => Promise<HttpRequest>) | undefined;
  readonly headers: HeaderOptions | undefined;
  /** True if the API accepts ids of calls that it did not create. */
  readonly sendsAllIds: boolean;
  readonly streamsArguments: boolean;
  /** Tools that Google runs. */
  readonly extraTools: readonly JsonObject[];
  /** True if the API sends the calls and results of its own tools only on request. */
  readonly asksForHostedCalls: boolean;
  /** What is known about the model. */
  readonly info: ModelInfo;
}

interface VertexLocation {
  readonly project: string;
  readonly location: string;
}

export function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  const isMultiRegion = location === 'us' || location === 'eu';
  return isMultiRegion
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}

/** Throws for names that would send the token to another host or path. */
export function vertexPath({ project, location }: VertexLocation): string {
  return `projects/${checkName('project', project)}/locations/${checkName('location', location)}`;
}

function checkName(option: string, name: unknown): string {
  if (typeof name === 'string' && /^[a-z0-9-]+$/.test(name)) return name;
  throw fault(
    'invalid_request',
    `${option} must consist of lower-case letters, digits and hyphens`,
  );
}
