import { type DefinedTool, defineTool } from '@millrace/agent';
import { z } from 'zod';
import { assertKnownOptions } from '../known-options.ts';
import { type FetchedPage, fetchPage, maxUrlLength } from './fetch-page.ts';
import { pageText, pageTitle } from './page-text.ts';
import { anyLookup, publicLookup, systemResolver } from './public-address.ts';

/** Options of `webFetchTool`. */
export interface WebFetchToolOptions {
  /** Maximum duration of a call, with all redirects. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of a page after decompression, in bytes. Default: 5,000,000. */
  readonly maxBytes?: number | undefined;
  /** Maximum length of the returned text, in characters. Default: 30,000. */
  readonly maxOutputLength?: number | undefined;
  /**
   * True if the tool may also connect to addresses that are not public: this machine and private networks.
   * Default: false.
   */
  readonly allowPrivate?: boolean | undefined;
}

/** The input of the tool `web_fetch`. */
export interface WebFetchInput {
  readonly url: string;
}

const maxRedirects = 5;
const input = z.object({
  url: z
    .string()
    .refine((text) => text.length <= maxUrlLength, `it has more than ${maxUrlLength} characters`),
});

/**
 * Creates the tool `web_fetch`, which returns a web page as text. The tool connects only to public addresses.
 * It checks the address of each connection, so a name cannot lead to a private address. A redirect to another
 * host is not followed, because a permission applies to one host: the model gets the new URL.
 *
 * @example createAgent({ provider, tools: [webFetchTool()], approve: approveByPolicy(policy, workspace) });
 */
export function webFetchTool(
  options: WebFetchToolOptions = {},
): DefinedTool<'web_fetch', WebFetchInput> {
  assertKnownOptions('webFetchTool', options, {
    ...{ timeoutMs: true, maxBytes: true, maxOutputLength: true, allowPrivate: true },
  });
  const { timeoutMs = 30_000, maxBytes = 5_000_000, maxOutputLength = 30_000 } = options;
  const publicOnly = options.allowPrivate !== true;
  return defineTool({
    name: 'web_fetch',
    description: 'Returns a web page or text file as text.',
    input,
    afterCrash: 'repeat',
    maxOutputLength,
    timeoutMs,
    summarize: ({ url }) => `Fetch ${url}`,
    execute: async ({ url: given }, { signal }) => {
      const url = webUrl(given);
      const lookup = publicOnly ? publicLookup(systemResolver) : anyLookup(systemResolver);
      const page = await fetchPage(url, {
        maxBytes,
        maxRedirects,
        signal,
        lookup,
        publicOnly,
      }).catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        throw fetchError(url, error);
      });
      return describePage(url, page, maxBytes);
    },
  });
}

function webUrl(given: string): URL {
  const url = URL.parse(given);
  const problem =
    url === null
      ? 'it is not a URL'
      : !/^https?:$/.test(url.protocol)
        ? 'it must start with https:// or http://'
        : url.username !== '' || url.password !== ''
          ? 'it contains a user name or password'
          : undefined;
  if (url === null || problem !== undefined)
    throw new Error(`Cannot fetch ${JSON.stringify(given.slice(0, 200))}: ${problem}`);
  return url;
}

function fetchError({ host }: URL, error: unknown): Error {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  const why = message || code || 'the connection failed';
  return new Error(`Cannot fetch from ${host}: ${why}`, { cause: error });
}

function describePage(asked: URL, page: FetchedPage, maxBytes: number) {
  const failed = (text: string) => ({ output: { text, isError: true } });
  switch (page.type) {
    case 'moved':
      return failed(`${asked.href} redirects to another host. Fetch ${page.to} instead`);
    case 'not_text':
      return failed(`Cannot show ${asked.href}: it is ${page.mimeType || 'not text'}`);
    case 'page': {
      const isHtml = /html/.test(page.mimeType);
      const title = isHtml ? pageTitle(page.text) : undefined;
      const text = isHtml ? pageText(page.text, page.url) : page.text.trim();
      const notes = page.isCut
        ? [`The page has more than ${maxBytes} bytes. The rest is omitted.`]
        : [];
      const head = [page.url, ...(title === undefined ? [] : [title]), ...notes].join('\n');
      const isError = page.status >= 400;
      const status = isError ? `Status ${page.status}\n` : '';
      const value = { url: page.url, status: page.status };
      return { output: { text: `${status}${head}\n\n${text || '(no text)'}`, value, isError } };
    }
  }
}
