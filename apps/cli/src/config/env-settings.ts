import { isDecimal } from '@millrace/core';
import type { Env } from '../models/env.ts';
import { ConfigError } from './config-error.ts';

/** What the environment says; empty variables say nothing. */
export interface EnvSettings {
  readonly model: string | undefined;
  readonly system: string | undefined;
  readonly store: string | undefined;
  readonly config: string | undefined;
  readonly maxTurns: number | undefined;
  readonly maxTokens: number | undefined;
  readonly maxCost: string | undefined;
}

export function envSettings(env: Env): EnvSettings {
  const text = (name: string) => env[name] || undefined;
  return {
    model: text('MILLRACE_MODEL'),
    system: text('MILLRACE_SYSTEM'),
    store: text('MILLRACE_STORE'),
    config: text('MILLRACE_CONFIG'),
    maxTurns: count('MILLRACE_MAX_TURNS', text('MILLRACE_MAX_TURNS')),
    maxTokens: count('MILLRACE_MAX_TOKENS', text('MILLRACE_MAX_TOKENS')),
    maxCost: amount('MILLRACE_MAX_COST', text('MILLRACE_MAX_COST')),
  };
}

function count(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (number > 0) return number;
  throw new ConfigError(`The variable ${name} has to be a whole number from 1 on`, { name });
}

function amount(name: string, value: string | undefined): string | undefined {
  if (value === undefined || (isDecimal(value) && Number(value) > 0)) return value;
  throw new ConfigError(`The variable ${name} has to be an amount in dollars, such as 0.50`, {
    name,
  });
}
