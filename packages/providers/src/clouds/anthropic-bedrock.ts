import type { MessagesHost } from '../anthropic/host.ts';
import { type AnthropicOptions, anthropicOptionNames } from '../anthropic/options.ts';
import { messagesProvider } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import { fault } from '../errors/wire-fault.ts';
import { AwsEventStreamReader } from '../transport/aws-event-stream.ts';
import { assertProviderOptions, environmentVariable, findApiKey } from '../wire/api-options.ts';
import { encodedName, readBaseUrl, withQuery } from '../wire/base-url.ts';
import { type AwsIdentity, signForAws } from './aws-signature.ts';

/** Options of `anthropicBedrock`. */
export interface AnthropicBedrockOptions
  extends Omit<AnthropicOptions, 'authToken' | 'uploads'>,
    Omit<AwsIdentity, 'region'> {
  /**
   * The AWS region, for example `us-east-1`. Default: the environment variable `AWS_REGION` or
   * `AWS_DEFAULT_REGION`.
   */
  readonly region?: string | undefined;
  /**
   * A Bedrock API key. With a key, requests need no signature. Default: the environment variable
   * `AWS_BEARER_TOKEN_BEDROCK`. Without a key, requests are signed with `credentials`.
   */
  readonly apiKey?: string | undefined;
}

const provider = 'anthropic-bedrock';
const defaultVersion = 'bedrock-2023-05-31';
const keyVariables = ['AWS_BEARER_TOKEN_BEDROCK'];

/**
 * Creates a provider for Claude on Amazon Bedrock. Signing needs the package `aws4fetch`. A Bedrock
 * API key needs no package.
 *
 * @example
 * const provider = anthropicBedrock({
 *   model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
 *   region: 'us-east-1',
 * });
 */
export function anthropicBedrock(options: AnthropicBedrockOptions): Provider {
  const { authToken: _token, uploads: _uploads, ...names } = anthropicOptionNames;
  const own = { ...names, region: true, credentials: true } as const;
  assertProviderOptions('anthropicBedrock', options, own);
  const { region, credentials, apiKey, ...rest } = options;
  return messagesProvider({ ...rest, apiKey }, hostFor({ region, credentials, apiKey }));
}

type Identity = Pick<AnthropicBedrockOptions, 'region' | 'credentials' | 'apiKey'>;

function hostFor({ region: given, credentials, apiKey }: Identity): MessagesHost {
  const region = () => requireRegion(given);
  // Credentials that the caller passes take precedence over an API key in the environment.
  const findKey = () => findApiKey(apiKey, credentials === undefined ? keyVariables : []);
  return {
    provider,
    url: ({ model, baseUrl }) => {
      const own = () => `https://bedrock-runtime.${region()}.amazonaws.com`;
      const { base, query } = readBaseUrl(baseUrl ?? own());
      return withQuery(`${base}/model/${encodedName(model)}/invoke-with-response-stream`, query);
    },
    headers: () => ({ accept: 'application/vnd.amazon.eventstream' }),
    keyHeader: () => {
      const key = findKey();
      return key === undefined ? {} : { authorization: `Bearer ${key}` };
    },
    // The URL already contains the model and requests a stream, so the body omits both.
    fields: ({ version }, betas) => ({
      anthropic_version: version ?? defaultVersion,
      ...(betas.length === 0 ? {} : { anthropic_beta: betas }),
    }),
    takesSystemMessages: () => false,
    authorize: async (request) =>
      'authorization' in request.headers
        ? request
        : signForAws(request, { region: region(), credentials }),
    frames: (options) => new AwsEventStreamReader(options),
  };
}

/**
 * Returns the region. The region becomes part of the host name. The function therefore throws if the region
 * is missing, or has a character that could change the host.
 */
function requireRegion(given: string | undefined): string {
  const variables = ['AWS_REGION', 'AWS_DEFAULT_REGION'];
  const region = given ?? variables.map(environmentVariable).find((value) => value !== undefined);
  if (region === undefined)
    throw fault('invalid_request', 'there is no region: pass region or set AWS_REGION');
  if (/^[a-z0-9-]+$/.test(region)) return region;
  throw fault('invalid_request', 'region must consist of lower-case letters, digits and hyphens');
}
