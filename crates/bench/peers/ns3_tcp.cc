// The peer of `slowhand bench tcp-air`: the same download in ns-3. A program of its own, never linked into slowhand, since ns-3 is
// GPL-2.0-only. SPDX-License-Identifier: MIT OR Apache-2.0
//
// c++ -O2 ns3_tcp.cc $(pkg-config --cflags --libs ns3-wifi ns3-applications ns3-internet ns3-mobility ns3-point-to-point ns3-traffic-control) -o ns3_tcp
// ns3_tcp SECONDS    one line: full segments received, wall seconds of the run, goodput in Mb/s
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"
#include "ns3_cell.h"

using namespace ns3;

static const uint32_t kSegment = 1448;

static void defaults() {
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

static NetDeviceContainer wire(Ptr<Node> server, Ptr<Node> ap) {
  PointToPointHelper helper;
  helper.SetDeviceAttribute("DataRate", StringValue("20Mbps"));
  helper.SetChannelAttribute("Delay", StringValue("25ms"));
  helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100p"));
  return helper.Install(server, ap);
}

static void places(Ptr<Node> ap, Ptr<Node> station) {
  auto list = CreateObject<ListPositionAllocator>();
  list->Add(Vector(0, 0, 0));
  list->Add(Vector(5, 0, 0));
  MobilityHelper mobility;
  mobility.SetPositionAllocator(list);
  mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
  mobility.Install(ap);
  mobility.Install(station);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ns3_tcp SECONDS\n");
    return 2;
  }
  const double seconds = std::atof(argv[1]);
  defaults();
  NodeContainer nodes(3);
  Ptr<Node> server = nodes.Get(0), ap = nodes.Get(1), station = nodes.Get(2);
  places(ap, station);
  InternetStackHelper().Install(nodes);
  const NetDeviceContainer wired = wire(server, ap), air = radios(NodeContainer(ap), NodeContainer(station));
  // The queue of 100 packets is the device's. ns-3 would put FQ-CoDel in front of it.
  Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(wired);
  const Ipv4InterfaceContainer at = Ipv4AddressHelper("10.0.1.0", "255.255.255.0").Assign(air);
  TrafficControlHelper().Uninstall(wired);
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
  ApplicationContainer sinks = sink.Install(station);
  BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(at.GetAddress(1), 9));
  bulk.SetAttribute("MaxBytes", UintegerValue(0));
  bulk.SetAttribute("SendSize", UintegerValue(kSegment));
  bulk.Install(server).Start(Seconds(1));
  auto received = DynamicCast<PacketSink>(sinks.Get(0));
  const auto started = std::chrono::steady_clock::now();
  Simulator::Stop(Seconds(1 + seconds));
  Simulator::Run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
  const uint64_t bytes = received->GetTotalRx();
  std::printf("%llu %.6f %.4f\n", (unsigned long long)(bytes / kSegment), wall.count(),
              bytes * 8e-6 / seconds);
  Simulator::Destroy();
}
