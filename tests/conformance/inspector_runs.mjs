// Many runs of the Inspector's command line in one process, since loading it takes longer than a run: each line of
// standard input has the arguments of a run, and is answered by a line with its exit code and what it wrote.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [executable, script, client] = process.argv;
const { runCli, handleError } = await import(pathToFileURL(client).href);
const answer = process.stdout.write.bind(process.stdout);
const written = { stdout: "", stderr: "" };
for (const stream of Object.keys(written))
  process[stream].write = (text, ...more) => {
    written[stream] += text;
    more.at(-1)?.();
    return true;
  };
process.exit = (exitCode) => { throw { exitCode }; };

for await (const line of createInterface({ input: process.stdin })) {
  Object.assign(written, { stdout: "", stderr: "" });
  const exitCode = await runCli([executable, script, ...JSON.parse(line)])
    .then(() => 0)
    .catch(handleError)
    .catch((ended) => ended.exitCode ?? 1);
  answer(`${JSON.stringify([exitCode, written.stdout, written.stderr])}\n`);
}
