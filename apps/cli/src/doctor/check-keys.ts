import type { Env } from '../models/env.ts';
import { localServers } from '../models/local-servers.ts';
import { vendors } from '../models/vendors.ts';
import type { Check, Finding } from './finding.ts';

const about = 'keys';

/** Which keys are set, and whether one cannot be right by its form. What they are is never told. */
export const checkKeys: Check = async ({ env }) => {
  const names = [
    ...vendors.flatMap(({ keyVariables }) => keyVariables),
    ...localServers.flatMap(({ keyVariable }) => keyVariable ?? []),
  ];
  const found = names.flatMap((name) => findingOn(name, env) ?? []);
  if (found.length > 0) return found;
  const text = 'No key of a provider is set';
  const advice = `Set one of ${vendors.map(({ keyVariables }) => keyVariables[0]).join(', ')}`;
  return [{ about, state: 'warn', text, advice }];
};

function findingOn(name: string, env: Env): Finding | undefined {
  const value = env[name];
  if (value === undefined) return undefined;
  const problem = problemOf(value);
  if (problem === undefined) return { about, state: 'ok', text: `${name} is set` };
  const advice = 'Set it anew, the key alone';
  return { about, state: 'warn', text: `${name} ${problem}`, advice };
}

function problemOf(value: string): string | undefined {
  if (value.trim() === '') return 'is set, but empty';
  if (value !== value.trim()) return 'has spaces or a line break around it';
  if (/^(["']).*\1$/s.test(value)) return 'has quotes around it';
  if (/[^\u0021-\u007e]/.test(value)) return 'has characters that no key has';
  return undefined;
}
