import bench from '../../package.json' with { type: 'json' };

/** Returns the name of a package with its installed version and the measured API. */
export function candidateName(peer: keyof typeof bench.dependencies, api: string): string {
  return `${peer} ${bench.dependencies[peer]}: ${api}`;
}
