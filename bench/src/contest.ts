import { type Climb, climb } from './climb.ts';
import type { Contestant } from './contestant.ts';
import { floor } from './floor.ts';
import { measure, printRow } from './measure.ts';
import type { Workload } from './workloads.ts';

const plan = { rounds: 5, warmUps: 1 };

/** One workload through all contestants; tells whether each of them came to the right result. */
export async function contest(
  sized: (fraction: number) => Workload,
  contestants: readonly Contestant[],
): Promise<boolean> {
  const { name, title, reads } = sized(1);
  console.log(`\n${name}: ${title}; medians of ${plan.rounds} rounds`);
  const climbs: Climb[] = [];
  for (const contestant of contestants) climbs.push(await climb(contestant, sized));
  const repeated = climbs.filter((one) => one.type === 'repeated');
  const runners = [() => floor(reads), ...repeated.map(({ run }) => run)];
  const [floorMs = 0, ...medians] = await measure(runners, plan);
  const msOf = new Map<Climb, number>(
    repeated.map((one, index) => [one, medians[index] ?? Number.NaN]),
  );
  printRow('F1: decode, split, parse, append', floorMs, floorMs, '');
  for (const one of climbs) print(one, msOf.get(one) ?? Number.NaN, floorMs);
  return climbs.every(({ type }) => type !== 'failed');
}

function print(one: Climb, ms: number, floorMs: number): void {
  switch (one.type) {
    case 'repeated':
      return printRow(one.name, ms, floorMs, one.note);
    case 'once':
      return printRow(one.name, one.ms, one.floorMs, one.note);
    case 'failed':
      return console.log(`${one.name}: no figure, ${one.reason}`);
  }
}
