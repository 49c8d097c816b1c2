import bench from '../../package.json' with { type: 'json' };

/** The package with the version that was installed, and which of its ways is taken. */
export function named(peer: keyof typeof bench.dependencies, way: string): string {
  return `${peer} ${bench.dependencies[peer]}: ${way}`;
}
