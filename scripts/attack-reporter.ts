import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * Prints each attack that succeeded or did not run. At the end, it prints how many attacks ran and
 * how many were stopped.
 */
export default class AttackReporter implements Reporter {
  onTestCaseResult(attack: TestCase): void {
    const { state, errors } = attack.result();
    if (state === 'passed') return;
    const what = state === 'skipped' ? 'not tried' : 'GOT THROUGH';
    const why = errors?.map(({ message }) => `\n    ${message}`).join('') ?? skipReason(attack);
    console.log(`${what}: ${attack.fullName}${why}`);
  }

  onTestRunEnd(files: readonly TestModule[], unhandled: readonly { message: string }[]): void {
    for (const { message } of unhandled) console.log(`error outside of an attack: ${message}`);
    for (const file of files) {
      const suites = [file, ...file.children.allSuites()];
      for (const { message } of suites.flatMap((suite) => suite.errors())) {
        console.log(`${file.moduleId}: ${message}`);
      }
    }
    const states = files.flatMap((file) =>
      [...file.children.allTests()].map((attack) => attack.result().state),
    );
    const count = (state: string) => states.filter((one) => one === state).length;
    const skipped = count('skipped');
    const notTried = skipped === 0 ? '' : `, not tried here ${skipped}`;
    console.log(`\ntried ${states.length - skipped}, stopped ${count('passed')}${notTried}`);
  }
}

function skipReason(attack: TestCase): string {
  const result = attack.result();
  const note = 'note' in result ? result.note : undefined;
  return note === undefined ? '' : ` (${note})`;
}
