import type { JsonObject } from '@millrace/core';
import type { Client, Tool as RemoteTool, RequestOptions } from '@modelcontextprotocol/client';
import { requestResource } from './resource-tools.ts';

/** The media type of an app. */
export const appType = 'text/html;profile=mcp-app';

/** The capability by which a client announces that it shows apps. The key names the extension (SEP-1865). */
export const appCapability: Record<string, { mimeTypes: string[] }> = {
  'io.modelcontextprotocol/ui': { mimeTypes: [appType] },
};

/** The HTML document of an app, and what its server declares about it. */
export interface AppDocument {
  readonly html: Uint8Array;
  readonly csp?: JsonObject | undefined;
  readonly prefersBorder?: boolean | undefined;
}

const maxUriLength = 2_000;

/** Returns the URI of the app that shows the results of a tool. Returns undefined for a tool without an app. */
export function appUri({ _meta: meta }: RemoteTool): string | undefined {
  // The second place is that of servers from before the extension was accepted.
  const uri = uiOf(meta)?.['resourceUri'] ?? meta?.['ui/resourceUri'];
  const isUri = typeof uri === 'string' && uri.startsWith('ui://') && uri.length <= maxUriLength;
  return isUri ? uri : undefined;
}

/** Returns whether the model or an app of the server can call a tool. By default, both can. */
export function canCall(who: 'model' | 'app', { _meta: meta }: RemoteTool): boolean {
  const visibility = uiOf(meta)?.['visibility'];
  return Array.isArray(visibility) ? visibility.includes(who) : true;
}

function uiOf(meta: unknown): Readonly<Record<string, unknown>> | undefined {
  const { ui } = (meta ?? {}) as { readonly ui?: unknown };
  return typeof ui === 'object' && ui !== null ? (ui as Record<string, unknown>) : undefined;
}

/** Reads the document of an app. Throws an error with the reason if it cannot be shown. */
export async function readApp(
  client: Client,
  uri: string,
  options: RequestOptions,
  maxBytes: number,
): Promise<AppDocument> {
  const { contents } = await requestResource(client, uri, options);
  const content = contents.find((one) => one.uri === uri) ?? contents[0];
  if (content === undefined) throw new Error('the resource is empty');
  const type = (content.mimeType ?? '').replaceAll(/\s/g, '').toLowerCase();
  if (type !== appType) throw new Error(`its type is not ${appType}`);
  const html =
    'text' in content
      ? new TextEncoder().encode(content.text)
      : Uint8Array.from(Buffer.from(content.blob, 'base64'));
  if (html.length > maxBytes)
    throw new Error(`it has ${html.length} bytes, more than ${maxBytes} (maxAppBytes)`);
  const declared = uiOf(content._meta) ?? (await listedMeta(client, uri, options));
  const { csp, prefersBorder } = declared ?? {};
  const domains = domainsOf(csp);
  return {
    html,
    ...(Object.keys(domains).length > 0 && { csp: domains }),
    ...(typeof prefersBorder === 'boolean' && { prefersBorder }),
  };
}

/** Returns the metadata of an app in the list of resources. Some servers declare it only there. */
async function listedMeta(client: Client, uri: string, options: RequestOptions) {
  const fresh = { ...options, cacheMode: 'refresh' } as const;
  const listed = await client.listResources(undefined, fresh).catch(() => undefined);
  return uiOf(listed?.resources.find((one) => one.uri === uri)?._meta);
}

const maxDomains = 32;
/** An origin that a content security policy can name, with at most one wildcard at its start. */
const origin = /^(?:https|wss):\/\/(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?(?::\d{1,5})?$/;

/** Keeps the declared origins that a policy can name. The page asks the user before it allows them. */
function domainsOf(csp: unknown): JsonObject {
  const given = (csp ?? {}) as Readonly<Record<string, unknown>>;
  const kept = ['connectDomains', 'resourceDomains'].map((name) => {
    const list = Array.isArray(given[name]) ? given[name] : [];
    const valid = list.flatMap((one) => {
      const text = typeof one === 'string' ? one.toLowerCase().replace(/\/$/, '') : '';
      return origin.test(text) ? [text] : [];
    });
    return [name, [...new Set(valid)].slice(0, maxDomains)] as const;
  });
  return Object.fromEntries(kept.filter(([, list]) => list.length > 0));
}
