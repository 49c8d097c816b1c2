import { type Clock, systemClock } from '@millrace/providers';
import { hasPassword } from '../config/file-connections.ts';
import type { ModelConfig, ProviderName } from '../contract/config.ts';
import { isLoginKey } from '../models/key-store.ts';
import { refusedError, windowWarning } from '../models/known-models.ts';
import { type FoundServer, findLocalServers, readWindow } from '../models/local-servers.ts';
import { findKey } from '../models/open-model.ts';
import { firstSetVariable, type Vendor, vendors } from '../models/vendors.ts';
import { countOf } from '../print/text-table.ts';
import type { Check, CheckContext, Finding } from './check.ts';

const about = 'endpoints';

/** Checks all vendors whose key is set, all configured models, and the local model servers. */
export const checkEndpoints: Check = async (context) => {
  const { config } = context;
  const asked = [
    ...vendors.map((vendor) => checkVendor(vendor, context)),
    ...Object.entries(config?.models ?? {}).map(([name, model]) =>
      checkConfiguredModel(name, model, context),
    ),
  ];
  const [found, local] = await Promise.all([Promise.all(asked), localFindings(context)]);
  return [...found.filter((finding) => finding !== undefined), ...local];
};

/** Tests the key of a vendor with one request that costs nothing. The key must be in the environment. */
export async function testKey(vendor: Vendor, context: TestContext): Promise<Finding> {
  const found = await checkVendor(vendor, context);
  return found ?? { about, state: 'warn', text: `The key of ${vendor.name} cannot be tested` };
}

type TestContext = Pick<CheckContext, 'env' | 'clock' | 'fetch' | 'timeoutMs'>;

async function checkVendor(vendor: Vendor, context: TestContext): Promise<Finding | undefined> {
  const { env, clock, fetch, timeoutMs } = context;
  const { name, keyVariables, addressVariable, keyPage } = vendor;
  const key = firstSetVariable(env, keyVariables);
  const probe = vendorProbes[name];
  if (key === undefined || probe === undefined) return undefined;
  const address = firstSetVariable(
    env,
    addressVariable === undefined ? [] : [addressVariable],
  )?.value;
  const url =
    address === undefined ? probe.url : `${address.replace(/(?<!\/)\/+$/, '')}${probe.path}`;
  const headers = probe.headers(key.value);
  const answer = await probeEndpoint(url, { headers, clock, fetch, timeoutMs });
  const isLogin = isLoginKey(env, key.name);
  return endpointFinding(name, answer, {
    refused: isLogin
      ? `The key of the login may be deleted. Log in again: millrace login ${name}`
      : `Check ${key.name}: it may be mistyped or revoked. Create keys at ${keyPage}`,
    host: hostText(url),
    with: isLogin ? ' with the key of your login' : '',
  });
}

/** Checks a configured model that has its own address or key. */
async function checkConfiguredModel(
  name: string,
  model: ModelConfig,
  { env, clock, fetch, timeoutMs }: CheckContext,
): Promise<Finding | undefined> {
  const { provider, baseUrl, apiKey, headers = {} } = model;
  const probe = vendorProbes[provider] ?? compatibleProbe;
  const url =
    baseUrl === undefined ? probe.url : `${baseUrl.replace(/(?<!\/)\/+$/, '')}${probe.path}`;
  if (url === '' || (baseUrl === undefined && apiKey === undefined)) return undefined;
  const key = findKey(model, env);
  const answer = await probeEndpoint(url, {
    headers: { ...(key === undefined ? {} : probe.headers(key)), ...headers },
    clock,
    fetch,
    timeoutMs,
  });
  const refused = `Check the apiKey of ${name} in the configuration`;
  return endpointFinding(name, answer, { refused, host: hostText(url) });
}

interface FindingDetails {
  readonly refused: string;
  readonly host: string;
  /** Text about the key, after the host. Default: none. */
  readonly with?: string;
}

function endpointFinding(
  name: string,
  answer: ProbeResult,
  { refused, host, with: key = '' }: FindingDetails,
): Finding {
  switch (answer.outcome) {
    case 'answered':
      return { about, state: 'ok', text: `${name} answers at ${host}${key}` };
    case 'refused': {
      const text = `${name} at ${host} rejects the key (status ${answer.status})`;
      return { about, state: 'fail', text, advice: refused };
    }
    case 'other': {
      const text = `${name} at ${host} answers with status ${answer.status}`;
      const isElsewhere = [301, 302, 307, 308, 404, 405].includes(answer.status);
      const advice = isElsewhere
        ? 'There is no API at this path. Check the address, unless the model works'
        : answer.status < 500 && answer.status !== 429
          ? 'The server does not accept this request. Check the address, unless the model works'
          : 'The server may be overloaded. Try again later';
      return { about, state: 'warn', text, advice };
    }
    case 'unreachable': {
      const text = `${name} at ${host} cannot be reached: ${answer.why}`;
      const {
        advice = 'Check the network and the address. Behind a proxy, set NODE_USE_ENV_PROXY=1',
      } = answer;
      return { about, state: 'warn', text, advice };
    }
  }
}

async function localFindings(context: CheckContext): Promise<readonly Finding[]> {
  const found = await findLocalServers(context);
  return Promise.all(found.map((server) => localFinding(server, context)));
}

/** Maximum number of models in a line. A longer line would be hard to read. */
const maxWindows = 12;

async function localFinding(found: FoundServer, context: CheckContext): Promise<Finding> {
  const { server, baseUrl, models, refusal } = found;
  const at = `${server.title} answers at ${hostText(baseUrl)}`;
  if (refusal !== undefined) {
    const { message: text } = refusedError(found, refusal, { isAsked: true, env: context.env });
    return { about, state: refusal === 'key' ? 'fail' : 'warn', text };
  }
  const text = `${at} with ${countOf(models.length, 'model')}`;
  if (models.length === 0)
    return { about, state: 'warn', text, advice: 'It has no model yet. Download one' };
  const shown = models.slice(0, maxWindows);
  const windows = await Promise.all(shown.map((model) => readWindow(found, model, context)));
  const listed = shown.map(({ id }, index) => `${id} (${windowText(windows[index])})`);
  const rest = models.length > shown.length ? ', …' : '';
  const smallest = Math.min(...windows.filter((tokens) => tokens !== undefined));
  const advice = windowWarning(found, smallest);
  return {
    ...{ about, state: advice === undefined ? 'ok' : 'warn' },
    text: `${text}: ${listed.join(', ')}${rest}`,
    advice,
  };
}

function windowText(tokens: number | undefined): string {
  return tokens === undefined
    ? 'context unknown until it is loaded'
    : `context of ${tokens} tokens`;
}

/** Returns only the host of a URL, because the rest may contain a key. */
function hostText(url: string): string {
  return URL.parse(url)?.host ?? 'an invalid address';
}

/** The outcome of one request to a server. */
type ProbeResult =
  | { readonly outcome: 'answered' }
  /** The server answers, but it rejects the key. */
  | { readonly outcome: 'refused'; readonly status: number }
  | { readonly outcome: 'other'; readonly status: number }
  | { readonly outcome: 'unreachable'; readonly why: string; readonly advice?: string };

interface ProbeOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
}

const defaultTimeoutMs = 5000;

const passwordInUrl: ProbeResult = {
  outcome: 'unreachable',
  why: 'its address contains a password',
  advice: 'Move it to the headers of a model in the configuration: { "authorization": "Basic …" }',
};

/**
 * Sends one GET request. It does not follow redirects, because a redirect could send the key to a
 * different host.
 */
async function probeEndpoint(url: string, options: ProbeOptions = {}): Promise<ProbeResult> {
  const { headers = {}, timeoutMs = defaultTimeoutMs, clock = systemClock } = options;
  const { fetch = globalThis.fetch } = options;
  if (hasPassword(url)) return passwordInUrl;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    const { status, body } = await fetch(url, { headers, redirect: 'manual', signal: late.signal });
    if (status === 200) {
      await body?.cancel();
      return { outcome: 'answered' };
    }
    const text = await startOf(body);
    // Some servers answer 400 if the key is wrong, but also if the request is wrong.
    const isAboutKey = status === 400 && /api[ _-]?key|credential|unauthenticated/i.test(text);
    const isRefused = status === 401 || status === 403 || isAboutKey;
    return { outcome: isRefused ? 'refused' : 'other', status };
  } catch (error) {
    const why = late.signal.aborted ? `no answer within ${timeoutMs} ms` : networkErrorCode(error);
    return { outcome: 'unreachable', why };
  } finally {
    cancel();
  }
}

const maxReadBytes = 10_000;

/** Returns the start of an answer. The text is only searched, and never shown. */
async function startOf(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxReadBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns only the error code. The message of a network error may contain data of the request. */
function networkErrorCode(error: unknown): string {
  const { cause } = error as { readonly cause?: { readonly code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'the connection failed';
}

/** A free request that succeeds only with a valid key. */
interface VendorProbe {
  readonly url: string;
  /** The path that is appended to a custom address. */
  readonly path: string;
  readonly headers: (key: string) => Readonly<Record<string, string>>;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

function openAiLike(base: string, path = '/models'): VendorProbe {
  return { url: `${base}${path}`, path, headers: bearer };
}

/** The probe for other servers with OpenAI's API. Their address must be configured. */
const compatibleProbe: VendorProbe = { url: '', path: '/models', headers: bearer };

/** The probes by provider. Azure is missing, because its address differs for each customer. */
const vendorProbes: Readonly<Partial<Record<ProviderName, VendorProbe>>> = {
  anthropic: {
    url: 'https://api.anthropic.com/v1/models',
    path: '/v1/models',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  },
  openai: openAiLike('https://api.openai.com/v1'),
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models',
    path: '/models',
    headers: (key) => ({ 'x-goog-api-key': key }),
  },
  // The list of models is public, so it cannot check a key. The probe requests `/key` instead.
  openrouter: openAiLike('https://openrouter.ai/api/v1', '/key'),
  groq: openAiLike('https://api.groq.com/openai/v1'),
  mistral: openAiLike('https://api.mistral.ai/v1'),
  deepseek: openAiLike('https://api.deepseek.com'),
  xai: openAiLike('https://api.x.ai/v1'),
  together: openAiLike('https://api.together.xyz/v1'),
};
