import { fault, faultBy } from '../errors/wire-fault.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { checkSecret, environmentVariable } from '../wire/api-options.ts';

/** Keys of an AWS account or role. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The session token. Only temporary keys have one. */
  readonly sessionToken?: string | undefined;
}

/** The region and the keys that sign requests to AWS. */
export interface AwsIdentity {
  readonly region: string;
  /**
   * The AWS keys, or a function that returns the current keys, such as `fromNodeProviderChain()` of
   * `@aws-sdk/credential-providers`. The function is called before each request. Default: the environment
   * variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
   */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>) | undefined;
}

/** Signs a request with AWS Signature Version 4. The package `aws4fetch` computes the signature. */
export async function signForAws(
  request: HttpRequest,
  { region, credentials }: AwsIdentity,
): Promise<HttpRequest> {
  const { accessKeyId, secretAccessKey, sessionToken } = await credentialsOf(credentials);
  const { AwsV4Signer } = await loadSigner();
  const signer = new AwsV4Signer({
    ...{ method: 'POST', url: request.url, headers: { ...request.headers } },
    // The signature is computed from this text. The transport sends the same text.
    body: JSON.stringify(request.body),
    ...{ accessKeyId, secretAccessKey, region, service: 'bedrock' },
    ...(sessionToken === undefined ? {} : { sessionToken }),
  });
  const { headers } = await signer.sign();
  return {
    ...request,
    headers: Object.fromEntries(headers),
    secrets: [...request.secrets, secretAccessKey, ...(sessionToken ? [sessionToken] : [])],
  };
}

async function loadSigner() {
  try {
    return await import('aws4fetch');
  } catch (cause) {
    throw faultBy(cause, 'auth', 'signing needs a package: npm install aws4fetch');
  }
}

async function credentialsOf(given: AwsIdentity['credentials']): Promise<AwsCredentials> {
  const found = typeof given === 'function' ? await currentCredentials(given) : given;
  const { accessKeyId, secretAccessKey, sessionToken } = found ?? environmentCredentials();
  const id = checkSecret('accessKeyId', accessKeyId);
  const secret = checkSecret('secretAccessKey', secretAccessKey);
  if (id && secret)
    return {
      ...{ accessKeyId: id, secretAccessKey: secret },
      sessionToken: checkSecret('sessionToken', sessionToken) || undefined,
    };
  const how = 'pass credentials or apiKey, or set AWS_BEARER_TOKEN_BEDROCK';
  throw fault(
    'auth',
    `there are no AWS keys: ${how}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`,
  );
}

function environmentCredentials() {
  return {
    accessKeyId: environmentVariable('AWS_ACCESS_KEY_ID'),
    secretAccessKey: environmentVariable('AWS_SECRET_ACCESS_KEY'),
    sessionToken: environmentVariable('AWS_SESSION_TOKEN'),
  };
}

async function currentCredentials(get: () => Promise<AwsCredentials>): Promise<AwsCredentials> {
  try {
    return await get();
  } catch (cause) {
    throw faultBy(cause, 'auth', 'the function credentials threw an error');
  }
}
