import type { JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import type { HeaderOptions } from '../wire/api-options.ts';

/** The settings of one of Google's two APIs for the same models: the Gemini API and Vertex AI. */
export interface GoogleEndpoint extends StateOwner {
  /**
   * Returns the URL of the model. Throws a `WireFault` if the name of the model or project would change the
   * path of the URL.
   */
  readonly url: () => string;
  /** The query of the base URL. */
  readonly query: string;
  /** The name of the header that contains the key. If the caller sets this header, no key is needed. */
  readonly keyHeader: string;
  /** Returns the key. Throws a `WireFault` if there is no key. */
  readonly key?: (() => string) | undefined;
  /**
   * Adds the token to a request (see `Wire.authorize`). It reads the token again for each request, because
   * tokens expire.
   */
  readonly authorize?: ((request: HttpRequest) => Promise<HttpRequest>) | undefined;
  readonly headers: HeaderOptions | undefined;
  /** True if the API accepts call ids that it did not create. */
  readonly sendsAllIds: boolean;
  readonly streamsArguments: boolean;
  /** Tools that Google runs itself. */
  readonly extraTools: readonly JsonObject[];
  /** True if a request must ask the API to return the calls and results of Google's own tools. */
  readonly asksForHostedCalls: boolean;
  /** The limits and abilities of the model. */
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

/**
 * Returns the path of a project and location. Throws for names that would send the token to a different host
 * or path.
 */
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
