import { providerSkeleton } from './provider-skeleton.ts';
import { storeSkeleton } from './store-skeleton.ts';
import { toolSkeleton } from './tool-skeleton.ts';
import { viewSkeleton } from './view-skeleton.ts';

/** The files of a new extension, and the next steps for its author. */
export interface Skeleton {
  /** The content of each file, by its path relative to the root of the repository. */
  readonly files: Readonly<Record<string, string>>;
  /** The new folder. It must not exist yet. */
  readonly folder: string;
  /** The path of the tests. */
  readonly test: string;
  readonly guide: string;
  /** The remaining steps for the author, in order. */
  readonly steps: readonly string[];
}

/** The name of an extension in the forms that code uses. */
export interface Names {
  /** The name as it was given: `acme-chat`. */
  readonly kebab: string;
  /** The name in camel case: `acmeChat`. */
  readonly camel: string;
  /** The name in Pascal case: `AcmeChat`. */
  readonly pascal: string;
  /** The name in upper case: `ACME_CHAT`. */
  readonly upper: string;
}

const skeletons = {
  provider: providerSkeleton,
  store: storeSkeleton,
  tool: toolSkeleton,
  view: viewSkeleton,
} as const;

export const kinds: readonly string[] = Object.keys(skeletons);

/** Returns the skeleton. Returns undefined for an unknown kind or an invalid name. */
export function skeletonOf(kind: string, name: string): Skeleton | undefined {
  if (!Object.hasOwn(skeletons, kind) || !/^[a-z][a-z\d]*(?:-[a-z\d]+)*$/.test(name))
    return undefined;
  return skeletons[kind as keyof typeof skeletons](namesOf(name));
}

function namesOf(kebab: string): Names {
  const camel = kebab.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const pascal = camel.charAt(0).toUpperCase() + camel.slice(1);
  return { kebab, camel, pascal, upper: kebab.replaceAll('-', '_').toUpperCase() };
}
