/** What a command that only looks looks at. */
export interface Reading {
  readonly program: string;
  readonly paths: readonly ReadPath[];
  /** What git does is up to the configuration of the repository too. */
  readonly isGit: boolean;
}

export interface ReadPath {
  readonly path: string;
  /** `search`: all that is below it, too. */
  readonly kind: 'read' | 'search';
}
