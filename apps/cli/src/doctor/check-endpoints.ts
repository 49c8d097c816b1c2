import type { ModelConfig } from '../config/config.ts';
import { firstSet } from '../models/env.ts';
import { findLocalServers } from '../models/find-local-servers.ts';
import { keyOf } from '../models/open-model.ts';
import { type Vendor, vendors } from '../models/vendors.ts';
import { countOf } from '../print/count-of.ts';
import { type Answer, askEndpoint } from './ask-endpoint.ts';
import type { Check, Finding, Patient } from './finding.ts';
import { compatibleProbe, vendorProbes } from './vendor-probe.ts';

const about = 'endpoints';

/** Whether the servers answer that there are keys for, those that are configured, and local ones. */
export const checkEndpoints: Check = async (patient) => {
  const { config } = patient;
  const asked = [
    ...vendors.map((vendor) => askVendor(vendor, patient)),
    ...Object.entries(config?.models ?? {}).map(([name, model]) => askOwn(name, model, patient)),
  ];
  const [found, local] = await Promise.all([Promise.all(asked), localFindings(patient)]);
  return [...found.filter((finding) => finding !== undefined), ...local];
};

async function askVendor(vendor: Vendor, patient: Patient): Promise<Finding | undefined> {
  const { env, clock, fetch, timeoutMs } = patient;
  const { name, keyVariables, addressVariable, keyPage } = vendor;
  const key = firstSet(env, keyVariables);
  const probe = vendorProbes[name];
  if (key === undefined || probe === undefined) return undefined;
  const address = firstSet(env, addressVariable === undefined ? [] : [addressVariable])?.value;
  const url = address === undefined ? probe.url : `${address.replace(/\/+$/, '')}${probe.path}`;
  const headers = probe.headers(key.value);
  const answer = await askEndpoint(url, { headers, clock, fetch, timeoutMs });
  return findingOn(name, answer, {
    refused: `Check ${key.name}: it may be mistyped or revoked. There are keys at ${keyPage}`,
    host: hostOf(url),
  });
}

/** A model of the configuration that has an address or a key of its own. */
async function askOwn(
  name: string,
  model: ModelConfig,
  { env, clock, fetch, timeoutMs }: Patient,
): Promise<Finding | undefined> {
  const { provider, baseUrl, apiKey, headers = {} } = model;
  const probe = vendorProbes[provider] ?? compatibleProbe;
  const url = baseUrl === undefined ? probe.url : `${baseUrl.replace(/\/+$/, '')}${probe.path}`;
  if (url === '' || (baseUrl === undefined && apiKey === undefined)) return undefined;
  const key = keyOf(model, env);
  const answer = await askEndpoint(url, {
    headers: { ...(key === undefined ? {} : probe.headers(key)), ...headers },
    clock,
    fetch,
    timeoutMs,
  });
  const refused = `Check the apiKey of ${name} in the configuration`;
  return findingOn(name, answer, { refused, host: hostOf(url) });
}

interface Ways {
  readonly refused: string;
  readonly host: string;
}

function findingOn(name: string, answer: Answer, { refused, host }: Ways): Finding {
  switch (answer.outcome) {
    case 'answered':
      return { about, state: 'ok', text: `${name} answers at ${host}` };
    case 'refused': {
      const text = `${name} at ${host} does not take the key (status ${answer.status})`;
      return { about, state: 'fail', text, advice: refused };
    }
    case 'other': {
      const text = `${name} at ${host} answers with status ${answer.status}`;
      const isElsewhere = [301, 302, 307, 308, 404, 405].includes(answer.status);
      const advice = isElsewhere
        ? 'Nothing answers there: check the address, unless the model works'
        : 'It may be busy. Try again later';
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

async function localFindings(patient: Patient): Promise<readonly Finding[]> {
  const found = await findLocalServers(patient);
  return found.map(({ server, baseUrl, models }) => ({
    about,
    state: models.length === 0 ? 'warn' : 'ok',
    text: `${server.title} answers at ${hostOf(baseUrl)} with ${countOf(models.length, 'model')}`,
    advice: models.length === 0 ? 'It has no model yet: fetch one there' : undefined,
  }));
}

/** An address may have a key in it. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'an address that is none';
}
