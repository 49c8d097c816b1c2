/** The variables of the process, as they were handed over: nothing here reads them by itself. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The first of these variables that is set, an empty one counting as none. */
export function firstSet(env: Env, names: readonly string[]): SetVariable | undefined {
  for (const name of names) {
    const value = env[name]?.trim();
    if (value) return { name, value };
  }
  return undefined;
}

export interface SetVariable {
  readonly name: string;
  readonly value: string;
}
