/** Aliases such as `gemini-flash-latest` stand for a model of this generation or a later one. */
const currentGeneration = 3;

/**
 * Which generation of Gemini a model is, by its name: 2.5 of `gemini-2.5-pro`. What the API takes
 * depends on it. 0 for all that is not Gemini, or does not say so.
 */
export function generationOf(model: string): number {
  const name = nameOf(model);
  const [, generation] = /^gemini-(\d+(?:\.\d+)?)/.exec(name) ?? [];
  if (generation !== undefined) return Number(generation);
  return name.startsWith('gemini-') ? currentGeneration : 0;
}

/** Without the folders that stand before it, for instance `models/`. */
export function nameOf(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}
