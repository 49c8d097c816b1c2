import type { BlockKind } from './expected.ts';

/** The kinds of the blocks that are not empty, with neighbours of a kind as one. */
export function orderOf(blocks: readonly (readonly [BlockKind, string])[]): readonly BlockKind[] {
  const kinds = blocks.filter(([, content]) => content !== '').map(([kind]) => kind);
  return kinds.filter((kind, index) => kind !== kinds[index - 1]);
}
