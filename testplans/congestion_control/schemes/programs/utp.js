// LEDBAT by libutp (npm utp-native): `node utp.js receive BIND PORT`, then `node utp.js send PEER PORT`, until each is stopped.
"use strict";

const utp = require("utp-native");

const [, , side, host, port] = process.argv;
const CHUNK = Buffer.alloc(64 * 1024);

function fail(error) {
  console.error(error.message);
  process.exit(1);
}

function send() {
  const connection = utp.connect(Number(port), host);
  const fill = () => {
    while (connection.write(CHUNK));
    connection.once("drain", fill);
  };
  connection.on("error", fail);
  connection.on("close", () => fail(new Error("the receiver closed the connection")));
  fill();
}

function receive() {
  const server = utp.createServer((connection) => {
    connection.on("data", () => {});
    connection.on("error", fail);
  });
  server.on("error", fail);
  server.listen(Number(port), host);
}

({ send, receive })[side]();
